/* Requests to a model server. */
#include "assistant/model_server.h"

#include "base/utf8.h"
#include "json/jr.h"
#include "json/members.h"
#include "loop/task.h"

#define LIST_BYTES    ((size_t)64 * 1024)
#define LIST_MS       10000
#define REFUSAL_BYTES ((size_t)16 * 1024)
#define REFUSAL_SHOWN 300
#define HEADERS_MAX   3

static size_t headers_of(struct arena *arena,
                         const struct model_server *server,
                         struct fetch_header headers[HEADERS_MAX])
{
    size_t count = 0;

    headers[count++] = (struct fetch_header){STR("Content-Type"), STR("application/json")};
    headers[count++] = (struct fetch_header){STR("Accept"), STR("text/event-stream, */*")};
    if (server->key.len > 0)
        headers[count++] = (struct fetch_header){
            STR("Authorization"), arena_printf(arena, "Bearer %.*s", STR_ARG(server->key))};
    return count;
}

/* --- refusals --- */

static bool text_contains(struct str text, struct str part)
{
    return part.len <= text.len && memmem(text.ptr, text.len, part.ptr, part.len) != NULL;
}

struct str model_error_message(const struct model_server *server, const json_t *error)
{
    const json_t *inner = json_object_get(error, "error");
    const struct str places[] = {jr_str(inner, "message"), /* OpenAI's format */
                                 jr_str(error, "error"),
                                 jr_str(error, "message"),
                                 jr_str(error, "detail")};
    struct str words = STR_NONE;

    for (size_t i = 0; i < ARRAY_LEN(places) && words.len == 0; i++)
        words = places[i];
    if (words.len == 0 || (server->key.len > 0 && text_contains(words, server->key)))
        return STR_NONE;
    return utf8_cut(words, REFUSAL_SHOWN);
}

static unsigned quirks_of(struct str text, const json_t *body)
{
    const json_t *error = json_object_get(body, "error");
    bool refuses_max_tokens = str_is(jr_str(error, "code"), "unsupported_parameter") &&
                              str_is(jr_str(error, "param"), "max_tokens");
    unsigned quirks = 0;

    if (refuses_max_tokens || text_contains(text, STR("max_completion_tokens")))
        quirks |= MODEL_NO_MAX_TOKENS;
    if (text_contains(text, STR("stream_options")))
        quirks |= MODEL_NO_STREAM_OPTIONS;
    return quirks;
}

static void refusal_read(struct arena *arena,
                         const struct model_server *server,
                         long status,
                         struct str text,
                         struct model_refusal *ret_refusal)
{
    struct jr_error error;
    json_t *body = NULL;

    if (jr_parse_external(arena, text, &body, &error) == 0)
        ret_refusal->message = model_error_message(server, body);
    ret_refusal->status = status;
    if (model_is_bad_request(ret_refusal))
        ret_refusal->quirks = quirks_of(text, body);
}

struct str model_body_without(struct arena *arena, struct str body, unsigned quirks)
{
    const bool renames = (quirks & MODEL_NO_MAX_TOKENS) != 0 &&
                         json_member_find(arena, body, "max_tokens").ptr != NULL;
    const bool has_other =
        renames && json_member_find(arena, body, "max_completion_tokens").ptr != NULL;
    const bool drops = (quirks & MODEL_NO_STREAM_OPTIONS) != 0 &&
                       json_member_find(arena, body, "stream_options").ptr != NULL;
    struct json_members members = json_members_of(body);
    struct json_member member;
    struct strbuf out;

    if (!renames && !drops)
        return body;
    strbuf_init(&out, arena, body.len + sizeof("max_completion_tokens"));
    strbuf_char(&out, '{');
    while (json_members_next(&members, &member)) {
        const bool is_limit = renames && str_is(member.key, "max_tokens");
        if ((is_limit && has_other) || (drops && str_is(member.key, "stream_options")))
            continue;
        strbuf_cstr(&out, out.len > 1 ? ",\"" : "\"");
        strbuf_str(&out, is_limit ? STR("max_completion_tokens") : member.key);
        strbuf_str(&out, STR("\":"));
        strbuf_str(&out, member.value);
    }
    strbuf_char(&out, '}');
    return strbuf_view(&out);
}

/* --- requests --- */

int model_request(struct task *task,
                  const struct model_server *server,
                  struct str body,
                  struct fetch_stream **ret_stream,
                  struct model_refusal *ret_refusal)
{
    struct fetch_header headers[HEADERS_MAX];
    const struct fetch_response *head;
    struct fetch_stream *stream;
    struct str text;
    struct fetch_stream_request request = {
        .method = STR("POST"),
        .url = arena_printf(task->arena, "%.*s/chat/completions", STR_ARG(server->endpoint)),
        .headers = headers,
        .nheaders = headers_of(task->arena, server, headers),
        .body_bytes = (int64_t)body.len,
        .idle_ms = server->stall_ms,
        .is_guarded = true,
    };

    *ret_refusal = (struct model_refusal){0};
    TRY(fetch_stream_open(task, &request, &stream));
    TRY(fetch_stream_write(stream, body));
    TRY(fetch_stream_head(stream, &head));
    if (head->status < 200 || head->status > 299) {
        long status = head->status;
        if (fetch_stream_read_all(stream, REFUSAL_BYTES, &text) != 0)
            text = STR("");
        refusal_read(task->arena, server, status, text, ret_refusal);
        fetch_stream_close(stream);
        return ASSISTANT_REFUSED;
    }
    *ret_stream = stream;
    return 0;
}

/* --- answers --- */

struct model_reader {
    event_stream_fn fn;
    void *arg;
    bool done;
};

static int on_event(struct str event, void *arg)
{
    struct model_reader *reading = arg;

    if (reading->done)
        return 0;
    if (str_is(event, "[DONE]")) {
        reading->done = true;
        return 0;
    }
    return reading->fn(event, reading->arg);
}

int model_answer_read(
    struct task *task, struct fetch_stream *stream, event_stream_fn fn, void *arg, bool *ret_done)
{
    struct model_reader reading = {.fn = fn, .arg = arg};
    struct event_stream events;
    struct str chunk;
    size_t bytes = 0;
    int rc = 0;

    event_stream_init(&events, task->arena);
    do {
        rc = fetch_stream_read(stream, &chunk);
        if (rc != 0)
            break;
        bytes += chunk.len;
        rc = bytes > MODEL_ANSWER_BYTES ? ASSISTANT_BAD
                                        : event_stream_feed(&events, chunk, on_event, &reading);
    } while (rc == 0 && chunk.len > 0 && !reading.done);
    /* Completes the last event: some servers close the connection without its empty line. */
    if (rc == 0 && !reading.done)
        rc = event_stream_feed(&events, STR("\n\n"), on_event, &reading);
    *ret_done = reading.done;
    fetch_stream_close(stream);
    return reading.done ? 0 : rc;
}

/* --- models --- */

int model_list(struct task *task,
               const struct model_server *server,
               struct model_names *ret_names,
               struct model_refusal *ret_refusal)
{
    struct fetch_header headers[HEADERS_MAX];
    struct fetch_response response;
    struct jr_error error;
    json_t *body;
    struct fetch_request request = {
        .url = arena_printf(task->arena, "%.*s/models", STR_ARG(server->endpoint)),
        .headers = headers,
        .nheaders = headers_of(task->arena, server, headers),
        .timeout_ms = LIST_MS,
        .max_response_bytes = LIST_BYTES,
        .purpose = FETCH_INTEGRATION,
    };

    *ret_refusal = (struct model_refusal){0};
    TRY(fetch(task, &request, &response));
    if (response.status != 200) {
        refusal_read(task->arena, server, response.status, response.body, ret_refusal);
        return ASSISTANT_REFUSED;
    }
    if (jr_parse_external(task->arena, response.body, &body, &error) != 0)
        return ASSISTANT_BAD;
    const json_t *models = json_object_get(body, "data");
    if (!json_is_array(models))
        return ASSISTANT_BAD;
    struct str *items = ARENA_ARRAY(task->arena, items, MODEL_NAMES_MAX);
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(models) && count < MODEL_NAMES_MAX; i++) {
        struct str id = jr_str(json_array_get(models, i), "id");
        if (id.len > 0 && id.len <= MODEL_NAME_BYTES_MAX)
            items[count++] = id;
    }
    *ret_names = (struct model_names){items, count};
    return 0;
}
