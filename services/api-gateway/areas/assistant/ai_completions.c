/* /ai/v1/chat/completions: OpenAI's protocol, with the project's API keys and within its limits. */
#include "areas/assistant/ai_models.h"
#include "areas/assistant/ai_request.h"
#include "areas/assistant/ai_subscriber.h"

#include "assistant/completion.h"
#include "base/clock.h"
#include "http/feed.h"
#include "json/jr.h"
#include "loop/background.h"

#define PROMPT_EXTRA_TOKENS                                                                        \
    4096 /* tokens that servers may count in addition to a request's bytes */
#define MESSAGES_MAX   1000
#define WATCH_MS       300
#define CHECK_LIMIT_MS 10000
#define CHUNK_BYTES    (EVENT_STREAM_BYTES * 2)

struct completions_in {
    struct in_str model;
    struct in_bool stream;
    struct in_i64 n, max_tokens, max_completion_tokens;
    struct in_list messages;
    struct in_json stream_options;
};

static const struct schema chat_message_schema = {
    .name = "AiChatMessage",
    .is_unchecked = true,
    .doc = "As in OpenAI's protocol: role, content, ...",
    .example = "{\"role\": \"user\", \"content\": \"Hello\"}",
};

static const struct field completions_fields[] = {
    {.name = "model",
     FIELD_AT(struct completions_in, model),
     .type = FIELD_STR,
     .nullable = true,
     .max = AI_MODEL_MAX,
     .doc = "When left out: the project's default_model",
     .example = "\"gpt-4o-mini\""},
    {.name = "messages",
     FIELD_AT(struct completions_in, messages),
     .type = FIELD_LIST,
     .required = true,
     .min = 1,
     .max = MESSAGES_MAX,
     .sub = &chat_message_schema},
    {.name = "stream",
     FIELD_AT(struct completions_in, stream),
     .type = FIELD_BOOL,
     .nullable = true},
    {.name = "stream_options",
     FIELD_AT(struct completions_in, stream_options),
     .type = FIELD_MAP,
     .nullable = true},
    {.name = "n",
     FIELD_AT(struct completions_in, n),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 1},
    {.name = "max_tokens",
     FIELD_AT(struct completions_in, max_tokens),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "A larger number is lowered to the project's max_output_tokens"},
    {.name = "max_completion_tokens",
     FIELD_AT(struct completions_in, max_completion_tokens),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1},
};
static const struct schema completions_schema = {
    .name = "AiChatCompletionRequest",
    .fields = completions_fields,
    .count = ARRAY_LEN(completions_fields),
    .struct_bytes = sizeof(struct completions_in),
    .allows_unknown = true,
    .doc = "Other members are passed on to the model server",
};

static const struct field answer_value = {.type = FIELD_MAP};
static const struct schema completion_schema = {
    .name = "AiChatCompletion",
    .value = &answer_value,
    .doc = "The answer of the model server. When stream is true: one event per chunk, then [DONE]",
    .example = "{\"object\": \"chat.completion\", \"choices\": []}",
};

/* A request that is passed on to the project's model server. */
struct passed_request {
    struct req *r;
    struct ai_config config;
    struct ai_reservation bill;
    struct ai_request request;
    bool wants_usage; /* the client requested the chunk with the usage */
    struct completion completion;
    struct completion_usage usage;
    size_t bytes;          /* of the answer's texts */
    struct arena *scratch; /* for one chunk */
    bool is_accepted, is_settled;
    struct list link;        /* in `passings` */
    struct loop_timer watch; /* polls whether the client has left or lost its rights */
    struct ai_subscriber subscriber;
    struct client_check *check; /* the running check; NULL = none */
    int64_t renewed_ms;
};

static struct list passings = {&passings, &passings};

/* --- usage --- */

/* Books the tokens once, however the request ends: as the server counted them, otherwise estimated
 * from the bytes of request and answer. A request that the server did not accept costs none. */
static void passed_request_settle(void *arg)
{
    struct passed_request *passing = arg;
    int64_t requested = (int64_t)passing->request.body.len;
    int64_t bytes = (int64_t)passing->bytes;
    int64_t limit = passing->config.max_output_tokens;

    if (passing->is_settled)
        return;
    passing->is_settled = true;
    if (!passing->is_accepted) {
        ai_usage_settle_later(&passing->bill, 0, 0);
        return;
    }
    ai_usage_settle_later(
        &passing->bill,
        completion_tokens(
            passing->usage.prompt, passing->request.body.len, requested + PROMPT_EXTRA_TOKENS),
        completion_tokens(passing->usage.answer, passing->bytes, limit > bytes ? limit : bytes));
}

/* --- the client --- */

/* A check of the client that runs concurrently with the request and may outlive the request. The
 * struct lives in the arena of the check's background task. */
struct client_check {
    struct passed_request *passing; /* NULL = the request has ended */
    struct ai_subscriber subscriber;
    int64_t running;
    bool renews_lease;
};

AWAITS static void client_check_run(struct task *task, void *arg)
{
    struct client_check *check = arg;
    struct project *project;
    const char *code;

    task->project = check->subscriber.project;
    code = ai_subscriber_check(task, &check->subscriber);
    if (check->renews_lease &&
        (project_find_number(task, gateway_directory(), check->subscriber.project, &project) != 0 ||
         ai_running_renew(task, project, check->running) != 0))
        check->renews_lease = false;
    if (check->passing) {
        check->passing->check = NULL;
        check->passing->subscriber = check->subscriber;
        if (check->renews_lease)
            check->passing->renewed_ms = clock_mono_ms();
        if (code)
            task_cancel(&check->passing->r->task);
    }
}

static void client_check_start(struct passed_request *passing)
{
    bool renews = clock_mono_ms() - passing->renewed_ms >= AI_RENEW_MS;

    if (passing->check || ai_limits_are_stopped() ||
        (!renews && !ai_subscriber_is_due(&passing->subscriber)))
        return;
    struct background *background = background_new(CHECK_LIMIT_MS);
    passing->check = ARENA_NEW(background_arena(background), passing->check);
    *passing->check =
        (struct client_check){passing, passing->subscriber, passing->bill.running_id, renews};
    background_start(background, client_check_run, passing->check);
}

static void completions_watch_on_time(void *arg)
{
    struct passed_request *passing = arg;

    if (http_client_has_left(passing->r)) {
        task_cancel(&passing->r->task);
        return;
    }
    client_check_start(passing);
    loop_timer_start(&passing->watch, WATCH_MS);
}

static void completions_watch_end(void *arg)
{
    struct passed_request *passing = arg;

    loop_timer_stop(&passing->watch);
    list_remove(&passing->link);
    if (passing->check)
        passing->check->passing = NULL;
}

static void completions_watch_begin(struct passed_request *passing)
{
    passing->renewed_ms = clock_mono_ms();
    list_append(&passings, &passing->link);
    ai_subscriber_init(&passing->subscriber, passing->r, PERM_SVC_AI_CHAT_CREATE);
    loop_timer_init(&passing->watch, completions_watch_on_time, passing);
    loop_timer_start(&passing->watch, WATCH_MS);
    arena_defer(passing->r->task.arena, completions_watch_end, passing);
}

/* Cancels and settles the requests that are being passed on. */
static void ai_completions_settle(void)
{
    LIST_FOR (link, &passings) {
        struct passed_request *passing = LIST_ITEM(link, struct passed_request, link);
        passed_request_settle(passing);
        task_cancel(&passing->r->task);
    }
}

const struct area_life ai_completions_life = {.settle = ai_completions_settle};

/* --- the request --- */

static void member_limit(json_t *doc, const char *member, const struct in_i64 *in, int64_t most)
{
    if (in->set && !in->null && in->value > most)
        (void)json_object_set_new(doc, member, json_integer(most));
}

/* The client's body, with the members that the project's settings decide. */
static void passed_request_body(struct passed_request *passing,
                                const json_t *body,
                                const struct completions_in *in,
                                struct str model)
{
    struct arena *arena = passing->r->task.arena;
    int64_t most = passing->config.max_output_tokens;
    json_t *doc = jr_attach(arena, json_copy((json_t *)body));

    (void)json_object_set_new(doc, "model", json_stringn(model.ptr, model.len));
    member_limit(doc, "max_tokens", &in->max_tokens, most);
    member_limit(doc, "max_completion_tokens", &in->max_completion_tokens, most);
    if ((!in->max_tokens.set || in->max_tokens.null) &&
        (!in->max_completion_tokens.set || in->max_completion_tokens.null))
        (void)json_object_set_new(doc, "max_tokens", json_integer(most));
    passing->wants_usage = jr_bool(in->stream_options.value, "include_usage", false);
    if (in->stream.value)
        (void)json_object_set_new(doc, "stream_options", json_pack("{s:b}", "include_usage", 1));
    else
        (void)json_object_del(doc, "stream_options");
    passing->request.body = jr_print(arena, doc);
}

/* --- the answer, whole --- */

static void answer_count_tokens(struct passed_request *passing, const json_t *answer)
{
    const json_t *choice = json_array_get(json_object_get(answer, "choices"), 0);
    json_t *message = json_object_get(choice, "message");
    const json_t *calls = json_object_get(message, "tool_calls");

    completion_message_tidy(passing->r->task.arena, message);
    passing->usage = completion_usage_of(answer);
    passing->bytes = jr_str(message, "content").len;
    for (size_t i = 0; i < json_array_size(calls); i++)
        passing->bytes +=
            jr_str(json_object_get(json_array_get(calls, i), "function"), "arguments").len;
}

AWAITS static int answer_pass_whole(struct passed_request *passing, struct fetch_stream *stream)
{
    struct req *r = passing->r;
    struct jr_error error;
    json_t *answer;
    struct str text;

    TRY(ai_server_check(r, fetch_stream_read_all(stream, MODEL_UNSTREAMED_BYTES, &text), NULL));
    passing->bytes = text.len;
    if (jr_parse_external(r->task.arena, text, &answer, &error) != 0 || !json_is_object(answer))
        return ai_server_check(r, ASSISTANT_BAD, NULL);
    if (completion_is_error(answer)) {
        ai_error_store(&passing->request, answer);
        return ai_server_check(r, ASSISTANT_BAD, NULL);
    }
    answer_count_tokens(passing, answer);
    struct jw w = resp_json(r);
    jw_json(&w, answer);
    return reply_json(r, 200);
}

/* --- the answer, streamed --- */

AWAITS static int event_write(struct req *r, struct arena *arena, struct str data)
{
    struct strbuf out;

    strbuf_init(&out, arena, CHUNK_BYTES);
    strbuf_str(&out, STR("data: "));
    strbuf_str(&out, data);
    strbuf_str(&out, STR("\n\n"));
    return out.overflow ? ASSISTANT_BAD : resp_stream_write(r, strbuf_view(&out));
}

/* co: Prints the chunk again, so that it is one line. A chunk without choices has only the usage:
 * it is sent only when the client requested the usage. */
AWAITS static int chunk_pass(struct str event, void *arg)
{
    struct passed_request *passing = arg;
    struct jr_error error;
    json_t *chunk;

    arena_reset(passing->scratch);
    if (jr_parse_external(passing->scratch, event, &chunk, &error) != 0)
        return ASSISTANT_BAD;
    passing->completion.text.len = 0; /* the text is not needed again */
    TRY(completion_add(&passing->completion, chunk));
    passing->usage = passing->completion.usage;
    passing->bytes = passing->completion.bytes;
    if (passing->completion.has_failed) {
        ai_error_store(&passing->request, chunk);
        return ASSISTANT_BAD;
    }
    if (!passing->wants_usage && json_array_size(json_object_get(chunk, "choices")) == 0)
        return 0;
    return event_write(passing->r, passing->scratch, jr_print(passing->scratch, chunk));
}

static void scratch_free(void *arena)
{
    arena_free(arena);
}

AWAITS static int answer_pass_streamed(struct passed_request *passing, struct fetch_stream *stream)
{
    struct req *r = passing->r;
    bool done = false;

    passing->scratch = arena_new(0);
    arena_defer(r->task.arena, scratch_free, passing->scratch);
    resp_header(r, "X-Accel-Buffering", STR("no"));
    TRY(resp_stream_begin(r, 200, STR("text/event-stream")));
    int rc = model_answer_read(&r->task, stream, chunk_pass, passing, &done);
    if (rc < 0)
        return rc;
    bool whole = rc == 0 && (done || passing->completion.finish.len > 0);
    TRY(event_write(r,
                    r->task.arena,
                    whole ? STR("[DONE]")
                          : STR("{\"error\":{\"message\":\"The model server did not finish its "
                                "answer.\",\"type\":\"server_error\",\"param\":null,\"code\":"
                                "\"provider_error\"}}")));
    TRY(resp_stream_end(r));
    return 200;
}

AWAITS static int ai_completions_create(struct req *r)
{
    struct passed_request *passing = ARENA_NEW(r->task.arena, passing);
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct model_refusal refusal;
    struct fetch_stream *stream;
    struct completions_in in;
    struct ai_slot_hold *hold;
    struct str model;
    json_t *body;

    passing->r = r;
    passing->usage = (struct completion_usage){-1, -1};
    completion_init(&passing->completion, r->task.arena);
    TRY(req_json_any(r, &body));
    if (!schema_decode(r->task.arena, &completions_schema, body, &in, errors))
        return fail_fields(r, errors);
    TRY(ai_config_load(r, &passing->config));
    TRY(ai_model_choose(r, &passing->config, &in.model, STR_NONE, &model));
    passing->request = (struct ai_request){.project = r->scope->project->number,
                                           .server = &passing->config.server,
                                           .model = model,
                                           .output_limit = passing->config.output_limit};
    passed_request_body(passing, body, &in, model);
    TRY(ai_slot_take(r, &hold));
    TRY(sql_begin(r));
    TRY(ai_usage_reserve(r, &passing->config, model, passing->request.body.len, &passing->bill));
    TRY(sql_commit(r));
    arena_defer(r->task.arena, passed_request_settle, passing);
    completions_watch_begin(passing);
    int rc = ai_request_send(&r->task, &passing->request, &stream, &refusal);
    TRY(ai_server_check(r, rc, &refusal));
    passing->is_accepted = true;
    rc = in.stream.value ? answer_pass_streamed(passing, stream)
                         : answer_pass_whole(passing, stream);
    passed_request_settle(passing);
    return rc;
}

/* --- models --- */

static const struct field openai_model_fields[] = {
    {.name = "id", .type = FIELD_STR, .required = true, .example = "\"gpt-4o-mini\""},
    {.name = "object", .type = FIELD_STR, .required = true, .example = "\"model\""},
    {.name = "created", .type = FIELD_I64, .required = true, .doc = "Always 0"},
    {.name = "owned_by",
     .type = FIELD_STR,
     .required = true,
     .doc = "Always model-server",
     .example = "\"model-server\""},
};
static const struct schema openai_model_schema = SCHEMA_OUT("AiOpenaiModel", openai_model_fields);
static const struct field openai_models_fields[] = {
    {.name = "object", .type = FIELD_STR, .required = true, .example = "\"list\""},
    {.name = "data", .type = FIELD_LIST, .required = true, .sub = &openai_model_schema},
};
static const struct schema openai_models_schema =
    SCHEMA_OUT("AiOpenaiModels", openai_models_fields);

AWAITS static int ai_completions_models(struct req *r)
{
    struct ai_config config;
    struct model_names names;
    struct jw w;

    TRY(ai_models_load(r, &config, &names));
    w = resp_json(r);
    jw_obj(&w);
    JW_CSTR(&w, "object", "list");
    jw_lit(&w, "data");
    jw_arr(&w);
    for (size_t i = 0; i < names.count; i++) {
        jw_obj(&w);
        JW_STR(&w, "id", names.items[i]);
        JW_CSTR(&w, "object", "model");
        JW_I64(&w, "created", 0);
        JW_CSTR(&w, "owned_by", "model-server");
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route ai_completions_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/ai/v1/models",
        .id = "ai_completions_models",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_READ,
        .success = {200, &openai_models_schema},
        .extra_statuses = {409, 429, 502},
        .run = ai_completions_models,
        .summary = "List models in OpenAI's protocol",
        .doc = "The models of GET /ai/models.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/ai/v1/chat/completions",
        .id = "ai_completions_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_CREATE,
        .body = &completions_schema,
        .success = {200, &completion_schema, .other_type = "text/event-stream"},
        .extra_statuses = {409, 502},
        .timeout_ms = AI_REQUEST_MS,
        .run = ai_completions_create,
        .summary = "Ask a model in OpenAI's protocol",
        .doc = "For clients of OpenAI: use the base URL {base_url}/ai/v1 and an API key of the "
               "project. Only the usage is stored. The project's system_prompt is only for "
               "conversations. A problem also has the member \"error\" of OpenAI's protocol.",
    },
};
ROUTES(ai_completions, "Assistant");
