/* Answers of a model server in chunks of any size: events, completions, tool calls, and the
 * reported usage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "assistant/completion.h"
#include "assistant/event_stream.h"
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

/* --- events --- */

static int note(struct str data, void *arg)
{
    strbuf_char(arg, '<');
    strbuf_str(arg, data);
    strbuf_char(arg, '>');
    return str_is(data, "stop") ? FETCH_BUSY : 0;
}

/* Returns the events of a text that arrives in chunks of `size` bytes. */
static struct str events_of(struct str text, size_t size, int *ret_rc)
{
    struct event_stream stream;
    struct strbuf noted;
    int rc = 0;

    event_stream_init(&stream, arena);
    strbuf_init(&noted, arena, 1 << 20);
    for (size_t at = 0; at < text.len && rc == 0; at += size) {
        size_t len = text.len - at < size ? text.len - at : size;
        rc = event_stream_feed(&stream, (struct str){text.ptr + at, len}, note, &noted);
    }
    *ret_rc = rc;
    return strbuf_view(&noted);
}

TEST_WITH(events, setup, teardown)
{
    static const struct {
        const char *text, *noted;
    } rows[] = {
        {"data: a\n\n", "<a>"},
        {"data:a\n\ndata:  b\n\n", "<a>< b>"},
        {"data: a\r\n\r\ndata: b\r\rdata: c\n\n", "<a><b><c>"},
        {"data: a\r\n\r\n\r\n\r\ndata: b\n\n", "<a><b>"},
        {"data: a\ndata: b\ndata\ndata:\n\n", "<a\nb\n\n>"},
        {": hello\n\nevent: x\nid: 7\ndata: a\nretry: 5\n\n", "<a>"},
        {"event: x\n\ndata: a\n\n", "<a>"},
        {"\xEF\xBB\xBF"
         "data: a\n\n",
         "<a>"},
        {"data: a\n\n\xEF\xBB\xBF"
         "data: b\n\n",
         "<a>"},
        {"data: {\"a\": \"\xC3\xA9:\"}\n\n", "<{\"a\": \"\xC3\xA9:\"}>"},
        {"dat: a\ndata a\nDATA: a\n data: a\n\n", ""},
        {"data: never ended\n", ""},
        {"", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t size = 1; size < 12; size++) {
            int rc;
            /* A byte order mark must arrive in one chunk. */
            if (rows[i].text[0] == '\xEF' && size < 3)
                continue;
            struct str noted = events_of(str_from(rows[i].text), size, &rc);
            assert_int_equal(rc, 0);
            assert_string_equal(arena_cstr(arena, noted), rows[i].noted);
        }
}

TEST_WITH(events_end_where_they_are_refused, setup, teardown)
{
    int rc;

    struct str noted = events_of(STR("data: a\n\ndata: stop\n\ndata: b\n\n"), 100, &rc);
    assert_int_equal(rc, FETCH_BUSY);
    assert_string_equal(arena_cstr(arena, noted), "<a><stop>");
}

TEST_WITH(too_long_events, setup, teardown)
{
    char *line = arena_alloc(arena, EVENT_STREAM_BYTES + 100);
    struct strbuf lines;
    int rc;

    memset(line, 'x', EVENT_STREAM_BYTES + 100);
    memcpy(line, "data:", 5);
    events_of((struct str){line, EVENT_STREAM_BYTES + 100}, 4096, &rc);
    assert_int_equal(rc, ASSISTANT_BAD);
    strbuf_init(&lines, arena, 1 << 20);
    for (size_t i = 0; i < EVENT_STREAM_BYTES / 64; i++)
        strbuf_printf(&lines, "data:%.100s\n", line);
    events_of(strbuf_view(&lines), 4096, &rc);
    assert_int_equal(rc, ASSISTANT_BAD);
}

/* --- completions --- */

static int add(struct completion *completion, const char *text)
{
    struct jr_error error;
    json_t *chunk;

    if (jr_parse(arena, str_from(text), &chunk, &error) != 0)
        fail_msg("%s: %s", error.text, text);
    return completion_add(completion, chunk);
}

#define CHUNK(choice) "{\"choices\":[" choice "]}"
#define DELTA(delta)  CHUNK("{\"index\":0,\"delta\":{" delta "}}")
#define CALL(call)    DELTA("\"tool_calls\":[{" call "}]")

TEST_WITH(texts, setup, teardown)
{
    struct completion completion;

    completion_init(&completion, arena);
    assert_int_equal(add(&completion, DELTA("\"role\":\"assistant\",\"content\":\"\"")), 0);
    assert_int_equal(completion.new_bytes, 0);
    assert_int_equal(add(&completion, DELTA("\"content\":\"Caf\\u00e9\"")), 0);
    assert_int_equal(completion.new_bytes, 5);
    assert_int_equal(add(&completion, DELTA("\"content\":null")), 0);
    assert_int_equal(add(&completion, DELTA("\"content\":\"!\"")), 0);
    assert_int_equal(add(&completion, CHUNK("{\"delta\":{},\"finish_reason\":\"stop\"}")), 0);
    assert_int_equal(add(&completion,
                         "{\"choices\":[],\"usage\":{\"prompt_tokens\":9,"
                         "\"completion_tokens\":2}}"),
                     0);
    assert_true(str_is(strbuf_view(&completion.text), "Caf\xC3\xA9!"));
    assert_true(str_is(completion.finish, "stop"));
    assert_int_equal(completion.usage.prompt, 9);
    assert_int_equal(completion.usage.answer, 2);
    assert_int_equal(completion.bytes, 6);
    assert_false(completion.has_failed);
}

TEST_WITH(calls_come_in_parts, setup, teardown)
{
    struct completion completion;

    completion_init(&completion, arena);
    assert_int_equal(
        add(&completion,
            CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"get_\",\"arguments\":\"\"}")),
        0);
    assert_int_equal(
        add(&completion,
            CALL("\"index\":0,\"function\":{\"name\":\"record\",\"arguments\":\"{\\\"id\\\"\"}")),
        0);
    assert_int_equal(
        add(&completion,
            CALL(
                "\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"list\",\"arguments\":\"{}\"}")),
        0);
    assert_int_equal(add(&completion, CALL("\"index\":0,\"function\":{\"arguments\":\":7}\"}")), 0);
    assert_int_equal(completion.call_count, 2);
    assert_true(str_is(strbuf_view(&completion.calls[0].id), "c1"));
    assert_true(str_is(strbuf_view(&completion.calls[0].name), "get_record"));
    assert_true(str_is(strbuf_view(&completion.calls[0].arguments), "{\"id\":7}"));
    assert_true(str_is(strbuf_view(&completion.calls[1].name), "list"));
    assert_true(str_is(strbuf_view(&completion.calls[1].arguments), "{}"));
    assert_int_equal(completion.bytes, 10);
}

TEST_WITH(calls_without_numbers, setup, teardown)
{
    struct completion completion;

    completion_init(&completion, arena);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(add(&completion, CALL("\"id\":\"c\",\"function\":{\"name\":\"a\"}")), 0);
        assert_int_equal(add(&completion, CALL("\"function\":{\"arguments\":\"{}\"}")), 0);
    }
    assert_int_equal(completion.call_count, 2);
    assert_true(str_is(strbuf_view(&completion.calls[1].arguments), "{}"));
}

/* The chunk that is passed on has the form that OpenAI's clients expect. */
TEST_WITH(calls_as_servers_write_them, setup, teardown)
{
    static const struct {
        const char *parts[4];
        const char *printed; /* of the last part */
    } rows[] = {
        /* Indexes from 1, with id and name in each part. */
        {{"\"index\":1,\"id\":\"c1\",\"function\":{\"name\":\"a\",\"arguments\":\"{\"}",
          "\"index\":1,\"id\":\"c1\",\"function\":{\"name\":\"a\",\"arguments\":\"}\"}",
          "\"index\":2,\"id\":\"c2\",\"function\":{\"name\":\"b\",\"arguments\":\"{\"}",
          "\"index\":2,\"id\":\"c2\",\"function\":{\"name\":\"b\",\"arguments\":\"}\"}"},
         "{\"index\":1,\"id\":\"c2\",\"function\":{\"arguments\":\"}\"}}"},
        /* All indexes are 0. */
        {{"\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"a\",\"arguments\":\"{\"}",
          "\"index\":0,\"function\":{\"arguments\":\"}\"}",
          "\"index\":0,\"id\":\"c2\",\"function\":{\"name\":\"b\",\"arguments\":\"{\"}",
          "\"index\":0,\"function\":{\"arguments\":\"}\"}"},
         "{\"index\":1,\"function\":{\"arguments\":\"}\"}}"},
        /* All indexes are 0, and a call comes between the parts of another call. */
        {{"\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"a\",\"arguments\":\"{\"}",
          "\"index\":0,\"id\":\"c2\",\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}",
          "\"index\":0,\"id\":\"c1\",\"function\":{\"arguments\":\"}\"}"},
         "{\"index\":0,\"id\":\"c1\",\"function\":{\"arguments\":\"}\"}}"},
        /* The arguments are objects, and some indexes are missing. */
        {{"\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"a\",\"arguments\":{}}",
          "\"index\":7,\"id\":\"c2\",\"function\":{\"name\":\"b\",\"arguments\":{}}"},
         "{\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}}"},
        /* No ids, and indexes that are all 0 or absent. */
        {{"\"index\":0,\"id\":\"\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}",
          "\"index\":0,\"id\":\"\",\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}"},
         "{\"index\":1,\"id\":\"call_1\",\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}}"},
        {{"\"function\":{\"name\":\"a\",\"arguments\":\"{\"}",
          "\"function\":{\"name\":\"a\",\"arguments\":\"}\"}",
          "\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}"},
         "{\"function\":{\"name\":\"b\",\"arguments\":\"{}\"},\"id\":\"call_1\",\"index\":1}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct completion completion;
        struct jr_error error;
        json_t *chunk = NULL;
        completion_init(&completion, arena);
        for (size_t n = 0; n < ARRAY_LEN(rows[i].parts) && rows[i].parts[n] != NULL; n++) {
            struct str text =
                arena_printf(arena,
                             "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{%s}]}}]}",
                             rows[i].parts[n]);
            assert_int_equal(jr_parse(arena, text, &chunk, &error), 0);
            assert_int_equal(completion_add(&completion, chunk), 0);
        }
        assert_int_equal(completion.call_count, 2);
        for (size_t n = 0; n < 2; n++) {
            struct str id = strbuf_view(&completion.calls[n].id);
            assert_true(id.len == 0 || str_is(id, n == 0 ? "c1" : "c2"));
            assert_true(str_is(strbuf_view(&completion.calls[n].name), n == 0 ? "a" : "b"));
            assert_true(str_is(strbuf_view(&completion.calls[n].arguments), "{}"));
        }
        const json_t *choice = json_array_get(json_object_get(chunk, "choices"), 0);
        const json_t *calls = json_object_get(json_object_get(choice, "delta"), "tool_calls");
        assert_string_equal(arena_cstr(arena, jr_print(arena, json_array_get(calls, 0))),
                            rows[i].printed);
    }
}

/* Two calls of one tool stay two calls, though they have the same index and no ids. */
TEST_WITH(one_tool_called_twice, setup, teardown)
{
    struct completion completion;

    completion_init(&completion, arena);
    for (int i = 0; i < 2; i++)
        assert_int_equal(add(&completion,
                             CALL("\"index\":0,\"function\":{\"name\":\"a\",\"arguments\":"
                                  "\"{\\\"id\\\":7}\"}")),
                         0);
    assert_int_equal(completion.call_count, 2);
    assert_true(str_is(strbuf_view(&completion.calls[1].arguments), "{\"id\":7}"));
}

TEST_WITH(content_in_parts, setup, teardown)
{
    struct completion completion;

    completion_init(&completion, arena);
    assert_int_equal(
        add(&completion,
            DELTA("\"content\":[\"a\",{\"type\":\"text\",\"text\":\"b\"},{\"type\":\"image\"}]")),
        0);
    assert_int_equal(add(&completion, DELTA("\"content\":[]")), 0);
    assert_int_equal(completion.new_bytes, 0);
    assert_true(str_is(strbuf_view(&completion.text), "ab"));
}

TEST_WITH(errors_in_place_of_chunks, setup, teardown)
{
    static const char *const chunks[] = {
        "{\"error\":{\"message\":\"m\"}}",
        "{\"error\":\"m\"}",
        "{\"object\":\"error\",\"message\":\"m\"}",
    };

    for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
        struct completion completion;
        completion_init(&completion, arena);
        assert_int_equal(add(&completion, chunks[i]), 0);
        assert_true(completion.has_failed);
        assert_int_equal(add(&completion, "{\"error\":null,\"choices\":[]}"), 0);
    }
}

TEST_WITH(what_makes_no_sense, setup, teardown)
{
    static const char *const chunks[] = {
        "[]",
        "7",
        CALL("\"index\":0,\"id\":"
             "\"ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
             "ccccccccccccccc\""),
    };
    struct completion completion;

    for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
        completion_init(&completion, arena);
        assert_int_equal(add(&completion, chunks[i]), ASSISTANT_BAD);
    }
    completion_init(&completion, arena);
    for (int i = 0; i <= COMPLETION_CALLS_MAX; i++) {
        const char *call = arena_printf(arena, CALL("\"id\":\"c%d\""), i).ptr;
        assert_int_equal(add(&completion, call), i < COMPLETION_CALLS_MAX ? 0 : ASSISTANT_BAD);
    }
}

TEST_WITH(what_is_passed_over, setup, teardown)
{
    static const char *const chunks[] = {
        "{}",
        "{\"choices\":null,\"usage\":null}",
        "{\"choices\":[7],\"usage\":[]}",
        CHUNK("{\"delta\":[],\"finish_reason\":null}"),
        DELTA("\"content\":7,\"tool_calls\":{}"),
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":-5,\"completion_tokens\":\"7\"}}",
    };
    struct completion completion;

    completion_init(&completion, arena);
    for (size_t i = 0; i < ARRAY_LEN(chunks); i++)
        assert_int_equal(add(&completion, chunks[i]), 0);
    assert_int_equal(completion.text.len, 0);
    assert_null(completion.finish.ptr);
    assert_int_equal(completion.usage.prompt, -1);
    assert_int_equal(completion.usage.answer, -1);
    assert_int_equal(add(&completion, "{\"error\":{\"message\":\"no\"}}"), 0);
    assert_true(completion.has_failed);
}

TEST_WITH(usage_is_believed_within_reason, setup, teardown)
{
    static const struct {
        int64_t said;
        size_t bytes;
        int64_t most, counted;
    } rows[] = {
        {-1, 0, 100, 0},
        {-1, 1, 100, 1},
        {-1, 400, 1000, 100},
        {90, 400, 1000, 90},
        {0, 400, 1000, 100},  /* reports that nothing was generated */
        {24, 400, 1000, 100}, /* fewer than possible */
        {25, 400, 1000, 25},
        {1000, 400, 1000, 1000}, /* a part of the output was not shown */
        {1001, 400, 1000, 100},  /* more than allowed */
        {INT64_MAX, 400, 1000, 100},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(completion_tokens(rows[i].said, rows[i].bytes, rows[i].most),
                         rows[i].counted);
}
