/* Requests to a model server. */
#include "assistant/model_server.h"

#include "base/utf8.h"
#include "json/jr.h"
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

/* --- asking --- */

/* co: its words, if they are the protocol's and do not tell the key. */
AWAITS static void read_refusal(struct task *task,
                                const struct model_server *server,
                                struct fetch_stream *stream,
                                struct model_refusal *refusal)
{
    struct jr_error error;
    struct str text;
    json_t *body;

    if (fetch_stream_rest(stream, REFUSAL_BYTES, &text) != 0 ||
        jr_parse_foreign(task->arena, text, &body, &error) != 0)
        return;
    struct str message = jr_str(json_object_get(body, "error"), "message");
    bool tells = server->key.len > 0 &&
                 memmem(message.ptr, message.len, server->key.ptr, server->key.len) != NULL;
    if (message.len > 0 && !tells)
        refusal->message = utf8_cut(message, REFUSAL_SHOWN);
}

int model_ask(struct task *task,
              const struct model_server *server,
              struct str body,
              struct fetch_stream **ret_stream,
              struct model_refusal *ret_refusal)
{
    struct fetch_header headers[HEADERS_MAX];
    const struct fetch_response *head;
    struct fetch_stream *stream;
    struct fetch_stream_request request = {
        .method = STR("POST"),
        .url = arena_printf(task->arena, "%.*s/chat/completions", STR_ARG(server->endpoint)),
        .headers = headers,
        .nheaders = headers_of(task->arena, server, headers),
        .body_bytes = (int64_t)body.len,
        .idle_ms = server->stall_ms,
        .guarded = true,
    };

    *ret_refusal = (struct model_refusal){0};
    TRY(fetch_stream_open(task, &request, &stream));
    TRY(fetch_stream_write(stream, body));
    TRY(fetch_stream_head(stream, &head));
    if (head->status < 200 || head->status > 299) {
        ret_refusal->status = head->status;
        read_refusal(task, server, stream, ret_refusal);
        fetch_stream_close(stream);
        return ASSISTANT_REFUSED;
    }
    *ret_stream = stream;
    return 0;
}

/* --- the answer --- */

struct reading {
    event_stream_fn fn;
    void *arg;
    bool done;
};

static int on_event(struct str event, void *arg)
{
    struct reading *reading = arg;

    if (reading->done)
        return 0;
    if (str_is(event, "[DONE]")) {
        reading->done = true;
        return 0;
    }
    return reading->fn(event, reading->arg);
}

int model_read(
    struct task *task, struct fetch_stream *stream, event_stream_fn fn, void *arg, bool *ret_done)
{
    struct reading reading = {.fn = fn, .arg = arg};
    struct event_stream events;
    struct str piece;
    size_t bytes = 0;
    int rc = 0;

    event_stream_init(&events, task->arena);
    do {
        rc = fetch_stream_read(stream, &piece);
        if (rc != 0)
            break;
        bytes += piece.len;
        rc = bytes > MODEL_ANSWER_BYTES ? ASSISTANT_BAD
                                        : event_stream_feed(&events, piece, on_event, &reading);
    } while (rc == 0 && piece.len > 0 && !reading.done);
    *ret_done = reading.done;
    fetch_stream_close(stream);
    return reading.done ? 0 : rc;
}

/* --- models --- */

int model_list(struct task *task, const struct model_server *server, struct model_names *ret_names)
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

    TRY(fetch(task, &request, &response));
    if (response.status != 200)
        return ASSISTANT_REFUSED;
    if (jr_parse_foreign(task->arena, response.body, &body, &error) != 0)
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
