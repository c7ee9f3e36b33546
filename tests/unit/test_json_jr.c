/* JSON reader: texts that RFC 8259 allows are read exactly, all other texts are refused with a
 * reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include <math.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "json/jr.h"

static struct arena *arena;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static json_t *accept(struct str text)
{
    json_t *root = NULL;
    struct jr_error error = {.text = ""};
    int rc = jr_parse(arena, text, &root, &error);
    if (rc != 0)
        fail_msg("refused %.*s: %s", STR_ARG(text), error.text);
    return root;
}

static void refuse(struct str text, const char *reason)
{
    json_t *root = NULL;
    struct jr_error error = {.text = ""};
    if (jr_parse(arena, text, &root, &error) != JR_INVALID)
        fail_msg("accepted %.*s", STR_ARG(text));
    assert_null(root);
    if (strstr(error.text, reason) == NULL)
        fail_msg("%.*s: \"%s\" lacks \"%s\"", STR_ARG(text), error.text, reason);
}

/* Valid texts, in the style of JSONTestSuite's y_ files. */
static const struct str good[] = {
    STR_INIT("[]"),
    STR_INIT("{}"),
    STR_INIT("[[]   ]"),
    STR_INIT("[\"\"]"),
    STR_INIT("[]\n"),
    STR_INIT(" [] "),
    STR_INIT("\t\r\n [1\t,\r\n2 ]"),
    STR_INIT("null"),
    STR_INIT("true"),
    STR_INIT("false"),
    STR_INIT("42"),
    STR_INIT("-0.1"),
    STR_INIT("\"asd\""),
    STR_INIT("\"\""),
    STR_INIT("[null, 1, \"1\", {}]"),
    STR_INIT("[1,null,null,null,2]"),
    STR_INIT("[0e+1]"),
    STR_INIT("[0e1]"),
    STR_INIT("[ 4]"),
    STR_INIT("[-0]"),
    STR_INIT("[-0.0]"),
    STR_INIT("[-1]"),
    STR_INIT("[-123]"),
    STR_INIT("[1E22]"),
    STR_INIT("[1E-2]"),
    STR_INIT("[1E+2]"),
    STR_INIT("[123e45]"),
    STR_INIT("[123.456e-78]"),
    STR_INIT("[123.456789]"),
    STR_INIT("[-0.000000000000000000000000000000000000000000000000000000000000000000000001]"),
    STR_INIT("[1e-400]"),
    STR_INIT("{\"asd\":\"sdf\", \"dfg\":\"fgh\"}"),
    STR_INIT("{\"\":0}"),
    STR_INIT("{\"a\":[]}"),
    STR_INIT("{\n\"a\": \"b\"\n}"),
    STR_INIT("[\"\\u0060\\u012a\\u12AB\"]"),
    STR_INIT("[\"\\uD801\\udc37\"]"),
    STR_INIT("[\"\\ud83d\\ude39\\ud83d\\udc8d\"]"),
    STR_INIT("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]"),
    STR_INIT("[\"\\\\u0000\"]"),
    STR_INIT("[\"\\\"\"]"),
    STR_INIT("[\"a/*b*/c/*d//e\"]"),
    STR_INIT("[\"\\\\a\"]"),
    STR_INIT("[\"\\u0012\"]"),
    STR_INIT("[\"\\uFFFF\"]"),
    STR_INIT("[\"\xf4\x8f\xbf\xbf\"]"),
    STR_INIT("[\"\xef\xbf\xbf\"]"),
    STR_INIT("[\"\xe2\x80\xa8\xe2\x80\xa9\"]"),
    STR_INIT("[\"\x7f\"]"),
    STR_INIT("[\"\\u0061\\u30af\\u30EA\\u30b9\"]"),
    STR_INIT("[\"new\\u000Aline\"]"),
    STR_INIT("[\"\\uDBFF\\uDFFE\"]"),
    STR_INIT("[\"\\u200B\\u2064\\uFDD0\\uFFFE\"]"),
    STR_INIT("[\"[[[[{{{{\"]"),
};

/* Invalid texts, in the style of JSONTestSuite's n_ files. */
static const struct str bad[] = {
    STR_INIT(""),
    STR_INIT(" "),
    STR_INIT("["),
    STR_INIT("{"),
    STR_INIT("]"),
    STR_INIT("[]]"),
    STR_INIT("{}}"),
    STR_INIT("[1 true]"),
    STR_INIT("[a\xe5]"),
    STR_INIT("[\"\": 1]"),
    STR_INIT("[\"\"],"),
    STR_INIT("[,1]"),
    STR_INIT("[1,,2]"),
    STR_INIT("[\"x\",,]"),
    STR_INIT("[\"\",]"),
    STR_INIT("[1,]"),
    STR_INIT("[,]"),
    STR_INIT("[-]"),
    STR_INIT("[   , \"\"]"),
    STR_INIT("[1,\n1\n,1"),
    STR_INIT("[\"a\",\n4\n,1,"),
    STR_INIT("[*]"),
    STR_INIT("[1:2]"),
    STR_INIT("[\"x\""),
    STR_INIT("[x"),
    STR_INIT("[3[4]]"),
    STR_INIT("[fals]"),
    STR_INIT("[nul]"),
    STR_INIT("[tru]"),
    STR_INIT("[True]"),
    STR_INIT("[nan]"),
    STR_INIT("[NaN]"),
    STR_INIT("[Infinity]"),
    STR_INIT("[-Infinity]"),
    STR_INIT("[inf]"),
    STR_INIT("[++1234]"),
    STR_INIT("[+1]"),
    STR_INIT("[+Inf]"),
    STR_INIT("[-01]"),
    STR_INIT("[-1.0.]"),
    STR_INIT("[-2.]"),
    STR_INIT("[.-1]"),
    STR_INIT("[.2e-3]"),
    STR_INIT("[0.1.2]"),
    STR_INIT("[0.3e+]"),
    STR_INIT("[0.3e]"),
    STR_INIT("[0.e1]"),
    STR_INIT("[0E+]"),
    STR_INIT("[0E]"),
    STR_INIT("[1.0e+]"),
    STR_INIT("[1.0e-]"),
    STR_INIT("[1 000.0]"),
    STR_INIT("[1eE2]"),
    STR_INIT("[2.e+3]"),
    STR_INIT("[9.e+]"),
    STR_INIT("[0x1]"),
    STR_INIT("[0x42]"),
    STR_INIT("[012]"),
    STR_INIT("[-foo]"),
    STR_INIT("[- 1]"),
    STR_INIT("[1ea]"),
    STR_INIT("[1a]"),
    STR_INIT("[1.8011670033376514H-308]"),
    STR_INIT("[\xef\xbc\x91]"),
    STR_INIT("{\"x\"::\"b\"}"),
    STR_INIT("{\"x\", null}"),
    STR_INIT("{\"a\" b}"),
    STR_INIT("{:\"b\"}"),
    STR_INIT("{\"a\":\"a\" 123}"),
    STR_INIT("{key: 'value'}"),
    STR_INIT("{\"a\" \"b\"}"),
    STR_INIT("{\"a\":"),
    STR_INIT("{\"a\""),
    STR_INIT("{1:1}"),
    STR_INIT("{null:null}"),
    STR_INIT("{\"id\":0,}"),
    STR_INIT("{\"id\":0,,,,,}"),
    STR_INIT("{'a':0}"),
    STR_INIT("{\"a\":\"b\"}/**/"),
    STR_INIT("{\"a\":\"b\"}//"),
    STR_INIT("{\"a\":\"b\"}#"),
    STR_INIT("{\"a\":/*comment*/\"b\"}"),
    STR_INIT("{\"a\": true} \"x\""),
    STR_INIT("{a: \"b\"}"),
    STR_INIT("[\"\\x00\"]"),
    STR_INIT("[\"\\\\\\\"]"),
    STR_INIT("[\"\\\t\"]"),
    STR_INIT("[\"\\a\"]"),
    STR_INIT("[\"\\\xe5\"]"),
    STR_INIT("[\"\\u\"]"),
    STR_INIT("[\"\\u00A\"]"),
    STR_INIT("[\"\\uqqqq\"]"),
    STR_INIT("[\"\\U0061\"]"),
    STR_INIT("[\"\\uD800\\u\"]"),
    STR_INIT("[\"\\uD800\\u1x\"]"),
    STR_INIT("[\"\\uD834\\uDd\"]"),
    STR_INIT("[\"\t\"]"),
    STR_INIT("[\"new\nline\"]"),
    STR_INIT("[\"\x1f\"]"),
    STR_INIT("['single quote']"),
    STR_INIT("abc"),
    STR_INIT("\""),
    STR_INIT("[\"\\"),
    STR_INIT("<.>"),
    STR_INIT("[<null>]"),
    STR_INIT("[1]x"),
    STR_INIT("2@"),
    STR_INIT("1]"),
    STR_INIT("[][]"),
    STR_INIT("[\"asd]"),
    STR_INIT("\xe5"),
    STR_INIT("[\xe2\x81\xa0]"),
    STR_INIT("[\x0c]"),
    STR_INIT("\xc2\xa0[]"),
    STR_INIT("[true"),
    STR_INIT("[{\"a\":[1}]"),
    STR_INIT("{]"),
    STR_INIT("[1]\v"),
};

TEST_WITH(test_good, setup, teardown)
{
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_non_null(accept(good[i]));
}

TEST_WITH(test_bad, setup, teardown)
{
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        refuse(bad[i], "line ");
}

TEST_WITH(test_refusals_of_our_own, setup, teardown)
{
    refuse(STR("\xef\xbb\xbf{}"), "line 1, column 1: byte order mark");
    refuse(STR("\xff\xfe[\0]\0"), "U+0000");
    refuse(STR("[\"a\0b\"]"), "U+0000");
    refuse(STR("[1]\0"), "U+0000");
    refuse(STR("[\"\\\0\"]"), "U+0000");
    refuse(STR("[\"\\u0000\"]"), "U+0000");
    refuse(STR("{\"a\\u0000\":1}"), "U+0000");
    refuse(STR("{\"a\":1,\"a\":1}"), "duplicate object key");
    refuse(STR("{\"x\":{\"a\":1,\"b\":2,\"\\u0061\":3}}"), "duplicate object key");
    refuse(STR("[\"\\ud800\"]"), "\\u escape");
    refuse(STR("[\"\\udc00\"]"), "\\u escape");
    refuse(STR("[\"\\ud800\\ud800\"]"), "\\u escape");
    refuse(STR("[\"\\ud800abc\"]"), "\\u escape");
    refuse(STR("[\"\xed\xa0\x80\"]"), "invalid UTF-8");
    refuse(STR("[\"\xc0\xaf\"]"), "invalid UTF-8");
    refuse(STR("[\"\xf4\x90\x80\x80\"]"), "invalid UTF-8");
    refuse(STR("[\"\x80\"]"), "invalid UTF-8");
    refuse(STR("[\"\xc3"), "invalid UTF-8");
    refuse(STR("{} {}"), "unexpected text after the value");
}

TEST_WITH(test_numbers, setup, teardown)
{
    assert_true(json_integer_value(accept(STR("9007199254740993"))) == 9007199254740993);
    assert_true(json_integer_value(accept(STR("9223372036854775807"))) == INT64_MAX);
    assert_true(json_integer_value(accept(STR("-9223372036854775808"))) == INT64_MIN);
    refuse(STR("9223372036854775808"), "number is out of range");
    refuse(STR("-9223372036854775809"), "number is out of range");
    refuse(STR("1e400"), "number is out of range");
    refuse(STR("[-1e400]"), "number is out of range");
    refuse(STR("1e131071"), "number is out of range");
    assert_true(json_is_real(accept(STR("1e5"))));
    assert_true(json_is_real(accept(STR("5.0"))));
    assert_true(json_is_integer(accept(STR("-0"))));
    assert_int_equal(json_integer_value(accept(STR("-0"))), 0);
    assert_true(signbit(json_real_value(accept(STR("-0.0")))) != 0);
    assert_true(json_real_value(accept(STR("1.7976931348623157e308"))) == 1.7976931348623157e308);
}

static uint64_t chance(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return *seed >> 33;
}

static size_t put_digits(uint64_t *seed, char *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (char)('0' + chance(seed) % 10);
    return count;
}

/* Writes a random number in any notation, within the range of a double, and returns its length. */
static size_t random_literal(uint64_t *seed, char *to)
{
    static const char *const signs[] = {"", "+", "-"};
    size_t whole = chance(seed) % 25;
    size_t len = 0;

    if (chance(seed) % 2)
        to[len++] = '-';
    to[len++] = (char)(whole == 0 ? '0' : '1' + chance(seed) % 9);
    len += put_digits(seed, to + len, whole);
    if (to[whole == 0 ? 0 : len - whole - 1] == '0' && whole > 0)
        to[len - whole - 1] = '1';
    if (chance(seed) % 3) {
        to[len++] = '.';
        len += put_digits(seed, to + len, 1 + chance(seed) % 24);
    }
    if (chance(seed) % 4 == 0) {
        to[len++] = chance(seed) % 2 ? 'e' : 'E';
        len += (size_t)snprintf(
            to + len, 8, "%s%u", signs[chance(seed) % 3], (unsigned)(chance(seed) % 100));
    }
    return len;
}

/* A number is printed as it was read, to the last digit. */
TEST_WITH(test_numbers_stay, setup, teardown)
{
    uint64_t seed = 20261122;
    char text[160];
    char buf[32];
    int rounds = is_long_run() ? 100000 : 20000;

    for (int i = 0; i < rounds; i++) {
        struct arena *own = arena_new(0);
        struct jr_error error;
        json_t *root;
        char literal[128];
        size_t len = random_literal(&seed, literal);
        int size = snprintf(
            text, sizeof(text), "{\"a\":[\"1.50\",{\"\\\"2e9\":%.*s},3]}", (int)len, literal);

        if (jr_parse_stored(own, (struct str){text, (size_t)size}, &root, &error) != 0)
            fail_msg("%s: %s", text, error.text);
        const json_t *inner = json_array_get(json_object_get(root, "a"), 1);
        struct str kept = jr_number(json_object_get(inner, "\"2e9"), buf);
        struct str printed = jr_print(own, root);
        struct str again = {literal, len};
        if (str_is(again, "-0"))
            again = STR("0"); /* an integer, which has no negative zero */
        if (!str_eq(kept, again))
            fail_msg("%s became %.*s", text, (int)kept.len, kept.ptr);
        if (again.ptr == literal && !str_eq(printed, (struct str){text, (size_t)size}))
            fail_msg("%s was printed as %.*s", text, (int)printed.len, printed.ptr);
        arena_free(own);
    }
}

TEST_WITH(test_literals, setup, teardown)
{
    static const char *const kept[] = {
        "99999999999999.99",
        "1e2",
        "1.50",
        "0.10",
        "1E+2",
        "1234567890123456789012345678901234567890",
        "0.1234567890123456789012345678901234567890",
    };
    char buf[32];

    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        struct jr_error error;
        json_t *root;
        assert_int_equal(jr_parse_stored(arena, str_from(kept[i]), &root, &error), 0);
        assert_true(str_is(jr_literal(root), kept[i]));
        assert_true(str_is(jr_print(arena, root), kept[i]));
        assert_true(json_is_real(root) && json_real_value(root) != 0);
    }
    assert_null(jr_literal(accept(STR("12.5"))).ptr);
    assert_null(jr_literal(accept(STR("7"))).ptr);
    assert_null(jr_literal(accept(STR("\"1.50\""))).ptr);
    assert_null(jr_number(accept(STR("\"1.50\"")), buf).ptr);
    json_t *plain = json_real(2.5);
    assert_null(jr_literal(plain).ptr);
    assert_true(str_is(jr_number(plain, buf), "2.5"));
    json_decref(plain);
    struct str text = STR("[1.50,{\"a\":2.50,\"b\":[3.50,4]},\"5.50\",6.50]");
    assert_true(str_eq(jr_print(arena, accept(text)), text));
}

/* A tree that was put together in memory may be deeper than the reader allows, and is printed. */
TEST_WITH(test_deeper_than_read, setup, teardown)
{
    json_t *value = json_object();

    for (int i = 0; i < 140; i++) {
        json_t *outer = i % 2 ? json_object() : json_array();
        if (i % 2)
            assert_int_equal(json_object_set_new(outer, "a", value), 0);
        else
            assert_int_equal(json_array_append_new(outer, value), 0);
        value = outer;
    }
    assert_true(jr_print(arena, value).len > 280);
    json_decref(value);
}

TEST_WITH(test_long_number, setup, teardown)
{
    size_t len = 1000 * 1000;
    char *text = arena_alloc(arena, len);
    memset(text, '9', len);
    refuse((struct str){text, len}, "number is out of range");
    text[0] = '0';
    text[1] = '.';
    refuse((struct str){text, len}, "number is out of range"); /* more digits than jsonb stores */
    assert_true(json_real_value(accept((struct str){text, 2 + 16383})) == 1.0);
    refuse((struct str){text, 2 + 16384}, "number is out of range");
}

/* Every accepted number can be stored as jsonb. */
TEST_WITH(test_numbers_of_jsonb, setup, teardown)
{
    static const char *const wide[] = {
        "1e-16384",
        "0e-16384",
        "0e99999",
        "[0.5e-16383]",
        "1e-99999999999999999999",
        "0e400000",
    };

    for (size_t i = 0; i < ARRAY_LEN(wide); i++)
        refuse(str_from(wide[i]), "number is out of range");
    (void)accept(STR("1e-16383"));
    (void)accept(STR("[0e16383, 0.5e-16382, 1e-400]"));
    (void)accept(STR("{\"1e-99999\": \"1e-99999\"}"));
}

static void path_is(const char *text, const char *want)
{
    json_t *root = NULL;
    struct jr_error error = {.text = ""};

    assert_int_equal(jr_parse(arena, str_from(text), &root, &error), JR_INVALID);
    assert_true(error.range);
    struct str path = jr_path(arena, str_from(text), error.at);
    if (!str_is(path, want))
        fail_msg("%s: %.*s instead of %s", text, STR_ARG(path), want);
}

TEST_WITH(test_paths, setup, teardown)
{
    json_t *root = NULL;
    struct jr_error error = {.text = ""};

    path_is("1e400", "");
    path_is("[1, 1e400]", "[1]");
    path_is("{\"a\":{\"b\":[0,{\"c\":1e-99999}]},\"d\":1}", "a.b[1].c");
    path_is("{\"a,]\\\"\":1,\"d\":[[],[{},9223372036854775808]]}", "d[1][1]");
    assert_int_equal(jr_parse(arena, STR("[1,"), &root, &error), JR_INVALID);
    assert_false(error.range);
}

TEST_WITH(test_texts_for_jsonb, setup, teardown)
{
    json_t *text = jr_text((struct str){"a\0\xff\xc3\xa4", 5});

    assert_string_equal(json_string_value(text), "a\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4");
    json_decref(text);
    text = jr_text(STR_NONE);
    assert_string_equal(json_string_value(text), "");
    json_decref(text);
}

static struct str nested(size_t depth, bool object, bool closed)
{
    const char *open = object ? "{\"a\":" : "[";
    size_t unit = strlen(open);
    char *text = arena_alloc(arena, depth * (unit + 1) + 1);
    size_t len = 0;
    for (size_t i = 0; i < depth; i++, len += unit)
        memcpy(text + len, open, unit);
    if (object)
        text[len++] = '1';
    for (size_t i = 0; closed && i < depth; i++)
        text[len++] = object ? '}' : ']';
    return (struct str){text, len};
}

TEST_WITH(test_depth, setup, teardown)
{
    assert_non_null(accept(nested(64, false, true)));
    assert_non_null(accept(nested(64, true, true)));
    refuse(nested(65, false, true), "line 1, column 65: nested deeper than 64 levels");
    refuse(nested(65, true, true), "nested deeper than 64 levels");
    refuse(nested(100000, false, true), "nested deeper than 64 levels");
    refuse(nested(100000, true, false), "nested deeper than 64 levels");
    /* Siblings do not add to the depth, and brackets in strings do not count. */
    char *wide = arena_alloc(arena, 1000);
    memset(wide, '[', 1000);
    memcpy(wide, "[\"", 2);
    memcpy(wide + 998, "\"]", 2);
    assert_non_null(accept((struct str){wide, 1000}));
    struct str many = STR_NONE;
    char *text = arena_alloc(arena, 1000);
    text[many.len++] = '[';
    for (int i = 0; i < 100; i++) {
        memcpy(text + many.len, "[{}],", 5);
        many.len += 5;
    }
    text[many.len - 1] = ']';
    many.ptr = text;
    assert_non_null(accept(many));
}

TEST_WITH(test_errors_say_where_and_never_what, setup, teardown)
{
    static const struct str texts[] = {
        STR_INIT("{\"a\":1,\n \"b\":hunter2}"),
        STR_INIT("{\"hunter2\":1,\n \"hunter2\":2}"),
        STR_INIT("{\"a\":1,\n \"b\":\"hunter2\n\"}"),
        STR_INIT("{\"a\":1,\n \"b\":\"\\uhunter2\"}"),
        STR_INIT("{\"a\":1,\n hunter2}"),
        STR_INIT("{\"a\":1,\n \"b\" hunter2}"),
        STR_INIT("{\"a\":1}\nhunter2"),
        STR_INIT("{\"a\":\n\"hunter2"),
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        json_t *root;
        struct jr_error error;
        assert_int_equal(jr_parse(arena, texts[i], &root, &error), JR_INVALID);
        assert_null(strstr(error.text, "hunter"));
        assert_non_null(strstr(error.text, "line 2, column "));
    }
    refuse(STR("{\n\"a\": 1,\n}"), "line 3, column 1: expected a key");
    refuse(STR("[1\n2]"), "line 2, column 1: expected \",\" or \"]\"");
    refuse(STR("\n\n  \xc3\xa9"), "line 3");
}

TEST_WITH(test_access, setup, teardown)
{
    json_t *root = accept(STR("{\"s\":\"a\\n\",\"i\":5,\"b\":true,\"n\":null,\"r\":1.5}"));
    assert_true(str_is(jr_str(root, "s"), "a\n"));
    assert_null(jr_str(root, "i").ptr);
    assert_null(jr_str(root, "missing").ptr);
    assert_int_equal(jr_i64(root, "i", -1), 5);
    assert_int_equal(jr_i64(root, "r", -1), -1);
    assert_int_equal(jr_i64(root, "missing", -1), -1);
    assert_true(jr_bool(root, "b", false));
    assert_true(jr_bool(root, "i", true));
    assert_null(jr_str(NULL, "s").ptr);
    assert_int_equal(jr_i64(json_array_get(root, 0), "i", 9), 9);
    struct str text = jr_print(arena, root);
    assert_true(str_is(text, "{\"s\":\"a\\n\",\"i\":5,\"b\":true,\"n\":null,\"r\":1.5}"));
}

/* jsonb prints large numbers with all their digits, which are read as doubles again. */
TEST_WITH(test_stored, setup, teardown)
{
    static const char *const wide = "{\"a\":[100000000000000000000,-9223372036854775809,1],"
                                    "\"t\":\"\\\"100000000000000000000\",\"b\":1e400}";
    static const struct {
        const char *text;
        const char *read; /* NULL = refused */
    } cases[] = {
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "9223372036854775808.0"},
        {"[-9223372036854775808,-9223372036854775809]",
         "[-9223372036854775808,-9223372036854775808.0]"},
        {"{\"1000000000000000000000\":1000000000000000000000}",
         "{\"1000000000000000000000\":1e21}"},
        {"1000000000000000000000.5", "1e21"},
        {"[\"\\\\\",10000000000000000000,\"\\\"10000000000000000000\"]",
         "[\"\\\\\",10000000000000000000.0,\"\\\"10000000000000000000\"]"},
        {"", NULL},
        {"[1", NULL},
        {"-", NULL},
        {"{\"a\":1,\"a\":2}", NULL},
        {"01000000000000000000000", NULL},
    };
    struct jr_error error = {.text = ""};
    json_t *root = NULL;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int rc = jr_parse_stored(arena, str_from(cases[i].text), &root, &error);
        assert_int_equal(rc, cases[i].read ? 0 : JR_INVALID);
        json_t *same = rc ? NULL : accept(str_from(cases[i].read));
        if (same && !json_equal(root, same))
            fail_msg("%s was read as %s", cases[i].text, jr_print(arena, root).ptr);
    }
    assert_int_equal(jr_parse_stored(arena, str_from(wide), &root, &error), JR_INVALID);
}

/* Texts of third-party servers may begin with a byte order mark and contain numbers of any size. */
TEST_WITH(test_foreign, setup, teardown)
{
    static const struct {
        const char *text;
        const char *printed; /* NULL = refused */
    } cases[] = {
        {"\xef\xbb\xbf[1]", "[1]"},
        {"\xef\xbb\xbf", NULL},
        {"\xef\xbb\xbf\xef\xbb\xbf[1]", NULL},
        {"[18446744073709551616,-9223372036854775809,1.50]",
         "[18446744073709551616,-9223372036854775809,1.50]"},
        {"1e400", "\"1e400\""},
        {"{\"a\":[-1e400,1e-20000,0e-99999,\"1e400\",2]}",
         "{\"a\":[\"-1e400\",\"1e-20000\",\"0e-99999\",\"1e400\",2]}"},
        {"{\"1e400\":18446744073709551616}", "{\"1e400\":18446744073709551616}"},
        {"[01]", NULL},
        {"[1e400e400]", NULL},
        {"[-]", NULL},
        {"[1-1e400]", NULL},
        {"{\"a\":1,\"a\":1e400}", NULL},
    };
    struct jr_error error = {.text = ""};
    json_t *root = NULL;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int rc = jr_parse_external(arena, str_from(cases[i].text), &root, &error);
        assert_int_equal(rc, cases[i].printed ? 0 : JR_INVALID);
        if (rc == 0)
            assert_string_equal(arena_cstr(arena, jr_print(arena, root)), cases[i].printed);
    }
    struct strbuf digits;
    strbuf_init(&digits, arena, 1000);
    for (int i = 0; i < 400; i++)
        strbuf_char(&digits, '7');
    assert_int_equal(jr_parse_external(arena, strbuf_view(&digits), &root, &error), 0);
    assert_int_equal(json_string_length(root), 400);
}

/* jr_tree_bytes() estimates the memory of a tree from its text, before the tree exists. */
TEST_WITH(test_tree_bytes, setup, teardown)
{
    static const struct {
        const char *value;
        size_t least, most; /* bytes per value */
    } cases[] = {
        {"{},", 224, 320},
        {"[],", 112, 208},
        {"0,", 32, 64},
        {"\"\",", 64, 144},
        {"{\"a\":1},", 344, 424},
        {"{\"name\":\"somebody\"},", 380, 500},
        {"Words, and more of them: quite a few. ", 38, 200},
        {"\"{[{[{[{[{[,,,,:\\\"{[{[{[{[{[,,,,:\",", 64, 200},
    };
    struct strbuf text;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        strbuf_init(&text, arena, 1 << 20);
        for (int times = 0; times < 1000; times++)
            strbuf_str(&text, str_from(cases[i].value));
        assert_in_range(jr_tree_bytes(strbuf_view(&text)) / 1000, cases[i].least, cases[i].most);
    }
    assert_in_range(jr_tree_bytes(STR("")), 0, 64);
    /* A text that is too deep is refused before a tree is built, so it counts little. */
    strbuf_init(&text, arena, 1 << 20);
    for (int times = 0; times < 100000; times++)
        strbuf_str(&text, STR("{\"a\":"));
    assert_in_range(jr_tree_bytes(strbuf_view(&text)), 500000, 550000);
}
