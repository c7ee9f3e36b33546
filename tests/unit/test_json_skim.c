/* Picks a few members out of a text: they are found anywhere, and a text that the reader refuses is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "json/jr.h"
#include "json/skim.h"

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

enum { ID, CREATED, OWNER, DEEP, DATA, ITEMS };

static struct skim_item items[ITEMS];

static int look(struct str text)
{
    const char *reason = NULL;

    items[ID].path = "id";
    items[CREATED].path = "created";
    items[OWNER].path = "data.object.metadata.owner";
    items[DEEP].path = "data.object.id";
    items[DATA].path = "data";
    int rc = skim_parse(arena, text, items, ITEMS, &reason);
    assert_int_equal(rc != 0, reason != NULL);
    return rc;
}

static void is_text(int item, const char *text)
{
    assert_int_equal(items[item].kind, SKIM_STRING);
    assert_true(str_is(items[item].text, text));
}

TEST_WITH(test_members, setup, teardown)
{
    assert_int_equal(
        look(
            STR("{\"x\":{\"id\":\"not this\"},\"id\":\"evt_1\",\"created\":17e2,\"data\":{\"x\":[1,"
                "{\"id\":2}],\"object\":{\"id\":\"pi_1\",\"metadata\":{\"owner\":\"a\",\"owner2\":"
                "\"b\"}}},\"list\":[{\"id\":\"nor this\"}]}")),
        0);
    is_text(ID, "evt_1");
    is_text(DEEP, "pi_1");
    is_text(OWNER, "a");
    assert_int_equal(items[CREATED].kind, SKIM_NUMBER);
    assert_true(str_is(items[CREATED].text, "17e2"));
    assert_int_equal(items[DATA].kind, SKIM_OTHER);
}

TEST_WITH(test_missing, setup, teardown)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "[{\"id\":\"1\"}]",
        "\"id\"",
        "12",
        " null ",
        "{\"ID\":\"1\",\"i\":2,\"idd\":3,\"data.object.id\":1}",
        "{\"x\":{\"id\":1,\"data\":{\"object\":{\"id\":\"1\"}}}}",
        "{\"dat\":{\"object\":{\"id\":1}},\"object\":{\"id\":1}}",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(look(str_from(texts[i])), 0);
        for (int item = 0; item < ITEMS; item++)
            assert_int_equal(items[item].kind, SKIM_MISSING);
    }
    assert_int_equal(look(STR("{\"data\":[{\"object\":{\"id\":1}}],\"id\":null}")), 0);
    assert_int_equal(items[DEEP].kind, SKIM_MISSING);
    assert_int_equal(items[ID].kind, SKIM_OTHER);
}

TEST_WITH(test_escapes, setup, teardown)
{
    assert_int_equal(
        look(
            STR("{\"\\u0069d\":\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20ac\\ud83d\\ude00\\u007fz\","
                "\"data\":{\"object\":{\"id\":\"\"}}}")),
        0);
    is_text(ID, "a\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7fz");
    is_text(DEEP, "");
}

TEST_WITH(test_twice, setup, teardown)
{
    assert_int_equal(look(STR("{\"id\":\"1\",\"id\":\"2\"}")), SKIM_INVALID);
    assert_int_equal(look(STR("{\"id\":\"1\",\"\\u0069d\":\"2\"}")), SKIM_INVALID);
    assert_int_equal(look(STR("{\"data\":{\"object\":1},\"data\":{\"object\":{\"id\":2}}}")),
                     SKIM_INVALID);
    assert_int_equal(look(STR("{\"data\":{\"object\":{\"id\":1,\"x\":1,\"id\":1}}}")),
                     SKIM_INVALID);
    assert_int_equal(look(STR("{\"other\":1,\"other\":2,\"x\":[{\"id\":1},{\"id\":2}]}")), 0);
}

/* The reader and json/skim agree on which texts are valid. */
TEST_WITH(test_as_the_reader, setup, teardown)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "{]",
        "[1,]",
        "{\"a\":}",
        "{\"a\"}",
        "{a:1}",
        "{\"a\":1,}",
        "{,}",
        "[,]",
        "[1 2]",
        "1 2",
        "01",
        "-",
        "-a",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "-0",
        "0.0",
        "1E5",
        "1e400",
        "-1e400",
        "1e-400",
        "nul",
        "nulll",
        "true",
        "True",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\t\"",
        "\"a\nb\"",
        "\"\x7f\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud800x\"",
        "\"\xff\"",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "\xef\xbb\xbf{}",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "12345678901234567890.5",
        "[1,[2,{\"a\":[]}],{}]",
        "{\"a\":{\"b\":{}}}",
        "\r\n\t {} \r\n",
        "{} x",
        "\v{}",
        "// x\n{}",
        "{'a':1}",
        "[1,2",
        "{\"a\":1",
        "\"a\\",
        "[\"a\",\"b\"]",
    };
    struct jr_error error;
    json_t *root;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int wanted = jr_parse(arena, str_from(texts[i]), &root, &error) == 0 ? 0 : SKIM_INVALID;
        if (look(str_from(texts[i])) != wanted)
            fail_msg("%s: the reader says %s", texts[i], wanted ? error.text : "fine");
    }
    assert_int_equal(look((struct str){"{\"a\":\"\0\"}", 9}), SKIM_INVALID);
    assert_int_equal(look((struct str){"{}\0", 3}), SKIM_INVALID);
}

TEST_WITH(test_depth, setup, teardown)
{
    char text[2 * (JR_MAX_DEPTH + 2) + 1];

    for (int depth = JR_MAX_DEPTH; depth <= JR_MAX_DEPTH + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        assert_int_equal(look((struct str){text, (size_t)(2 * depth)}),
                         depth > JR_MAX_DEPTH ? SKIM_INVALID : 0);
    }
}
