/* JSON writer: escapes, commas, numbers, limits. The reader reads the written text as the same
 * value. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit.h"

#include <math.h>

#include "base/arena.h"
#include "json/jr.h"
#include "json/jw.h"

struct fixture {
    struct arena *arena;
    struct strbuf out;
    struct jw w;
};

static struct fixture fx;

static int setup(void **state UNUSED)
{
    fx.arena = arena_new(0);
    strbuf_init(&fx.out, fx.arena, 1 << 24);
    jw_init(&fx.w, &fx.out);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(fx.arena);
    return 0;
}

static void assert_written(const char *expected)
{
    assert_string_equal(strbuf_cstring(&fx.out), expected);
    assert_true(jw_is_complete(&fx.w));
}

TEST_WITH(test_members_and_commas, setup, teardown)
{
    struct jw *w = &fx.w;
    jw_obj(w);
    JW_STR(w, "a", STR("x"));
    JW_I64(w, "b", -7);
    JW_BOOL(w, "c", true);
    JW_BOOL(w, "d", false);
    JW_NULL(w, "e");
    JW_CSTR(w, "f", NULL);
    jw_lit(w, "g");
    jw_arr(w);
    jw_i64(w, INT64_MIN);
    jw_i64(w, INT64_MAX);
    jw_obj(w);
    jw_obj_end(w);
    jw_arr(w);
    jw_arr_end(w);
    jw_raw(w, STR("{\"raw\":1}"));
    jw_arr_end(w);
    jw_key(w, STR("h\"\n"));
    jw_str(w, STR_NONE);
    jw_obj_end(w);
    assert_written("{\"a\":\"x\",\"b\":-7,\"c\":true,\"d\":false,\"e\":null,\"f\":null,"
                   "\"g\":[-9223372036854775808,9223372036854775807,{},[],{\"raw\":1}],"
                   "\"h\\\"\\n\":\"\"}");
}

TEST_WITH(test_single_values, setup, teardown)
{
    jw_str(&fx.w, STR("only"));
    assert_written("\"only\"");
}

TEST_WITH(test_escapes, setup, teardown)
{
    jw_str(&fx.w, STR("\"\\\b\f\n\r\t/\x01\x1f\x7f\xc3\xa9\0z"));
    assert_written("\"\\\"\\\\\\b\\f\\n\\r\\t/\\u0001\\u001f\x7f\xc3\xa9\\u0000z\"");
}

TEST_WITH(test_text_in_parts, setup, teardown)
{
    jw_arr(&fx.w);
    jw_str(&fx.w, STR("a"));
    jw_str_begin(&fx.w);
    jw_str_part(&fx.w, STR("b\""));
    jw_str_part(&fx.w, STR(""));
    jw_str_part(&fx.w, STR("\n\x01"));
    jw_str_end(&fx.w);
    jw_i64(&fx.w, 1);
    jw_arr_end(&fx.w);
    assert_written("[\"a\",\"b\\\"\\n\\u0001\",1]");
}

/* Every byte that needs an escape, at every offset of the eight-byte scan. */
TEST_WITH(test_escape_at_every_offset, setup, teardown)
{
    for (size_t len = 1; len <= 20; len++) {
        for (size_t at = 0; at < len; at++) {
            for (int c = 1; c < 0x80; c++) {
                char text[32];
                memset(text, 'a', len);
                text[at] = (char)c;
                fx.out.len = 0;
                jw_init(&fx.w, &fx.out);
                jw_str(&fx.w, (struct str){text, len});
                json_t *root;
                struct jr_error error;
                assert_int_equal(jr_parse(fx.arena, strbuf_view(&fx.out), &root, &error), 0);
                assert_int_equal(json_string_length(root), len);
                assert_memory_equal(json_string_value(root), text, len);
            }
        }
        arena_reset(fx.arena);
        strbuf_init(&fx.out, fx.arena, 1 << 24);
    }
}

TEST_WITH(test_multibyte_text_is_not_escaped, setup, teardown)
{
    struct str text = STR("\xe2\x82\xac\xf0\x9f\x98\x80\xc2\xa2\xe2\x82\xac\xf0\x9f\x98\x80");
    jw_str(&fx.w, text);
    assert_int_equal(fx.out.len, text.len + 2);
    assert_memory_equal(fx.out.ptr + 1, text.ptr, text.len);
}

TEST_WITH(test_doubles, setup, teardown)
{
    jw_arr(&fx.w);
    jw_f64(&fx.w, 0.1);
    jw_f64(&fx.w, -2.5);
    jw_f64(&fx.w, (double)NAN);
    jw_f64(&fx.w, (double)INFINITY);
    jw_f64(&fx.w, 5e-324);
    jw_arr_end(&fx.w);
    json_t *root;
    struct jr_error error;
    assert_int_equal(jr_parse(fx.arena, strbuf_view(&fx.out), &root, &error), 0);
    assert_true(json_real_value(json_array_get(root, 0)) == 0.1);
    assert_true(json_real_value(json_array_get(root, 1)) == -2.5);
    assert_true(json_is_null(json_array_get(root, 2)));
    assert_true(json_is_null(json_array_get(root, 3)));
    assert_true(json_real_value(json_array_get(root, 4)) == 5e-324);
}

TEST_WITH(test_time, setup, teardown)
{
    jw_time(&fx.w, 1769860800123);
    assert_written("\"2026-01-31T12:00:00.123Z\"");
}

TEST_WITH(test_tree_keeps_order, setup, teardown)
{
    const char *text = "{\"z\":[1,-2.5,true,false,null,\"\\u00e9\"],\"a\":{\"k\":{}},\"m\":[]}";
    json_t *root;
    struct jr_error error;
    assert_int_equal(jr_parse(fx.arena, str_from(text), &root, &error), 0);
    jw_json(&fx.w, root);
    assert_written("{\"z\":[1,-2.5,true,false,null,\"\xc3\xa9\"],\"a\":{\"k\":{}},\"m\":[]}");
}

/* With every maximum the text either fits whole or sets overflow, and nothing is written past the
 * end (sanitizers). */
TEST_WITH(test_maximum, setup, teardown)
{
    for (size_t max = 0; max < 80; max++) {
        struct strbuf out;
        struct jw w;
        strbuf_init(&out, fx.arena, max);
        jw_init(&w, &out);
        jw_obj(&w);
        jw_key(&w, STR("k\ney"));
        jw_str(&w, STR("\x01\x02\x03 and a long clean run \x04"));
        JW_I64(&w, "n", INT64_MIN);
        jw_obj_end(&w);
        assert_true(out.len <= max);
        if (out.overflow)
            assert_false(jw_is_complete(&w));
        else
            assert_true(jw_is_complete(&w));
    }
}

TEST_WITH(test_done_wants_one_whole_value, setup, teardown)
{
    assert_false(jw_is_complete(&fx.w));
    jw_arr(&fx.w);
    assert_false(jw_is_complete(&fx.w));
    jw_arr_end(&fx.w);
    assert_true(jw_is_complete(&fx.w));
}

#ifdef GW_DEBUG
static void bad_value_without_key(struct jw *w)
{
    jw_obj(w);
    jw_i64(w, 1);
}

static void bad_key_in_array(struct jw *w)
{
    jw_arr(w);
    jw_lit(w, "k");
}

static void bad_key_twice(struct jw *w)
{
    jw_obj(w);
    jw_lit(w, "k");
    jw_lit(w, "k");
}

static void bad_end_kind(struct jw *w)
{
    jw_obj(w);
    jw_arr_end(w);
}

static void bad_end_after_key(struct jw *w)
{
    jw_obj(w);
    jw_lit(w, "k");
    jw_obj_end(w);
}

static void bad_extra_end(struct jw *w)
{
    jw_arr(w);
    jw_arr_end(w);
    jw_arr_end(w);
}

static void bad_second_root(struct jw *w)
{
    jw_null(w);
    jw_null(w);
}

/* Runs fn in a child, because a broken invariant ends the process. */
static void assert_panics(void (*fn)(struct jw *w))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        fn(&fx.w);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_WITH(test_unbalanced_use_panics, setup, teardown)
{
    assert_panics(bad_value_without_key);
    assert_panics(bad_key_in_array);
    assert_panics(bad_key_twice);
    assert_panics(bad_end_kind);
    assert_panics(bad_end_after_key);
    assert_panics(bad_extra_end);
    assert_panics(bad_second_root);
}
#endif
