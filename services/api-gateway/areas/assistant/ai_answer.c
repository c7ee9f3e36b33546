/* Makes answers: reads them from the model server, runs tools and stores the text. */
#include "areas/assistant/ai_answer.h"
#include "areas/assistant/ai_events.h"
#include "areas/assistant/ai_follow.h"
#include "areas/assistant/ai_request.h"
#include "areas/assistant/ai_subscriber.h"
#include "areas/assistant/ai_tools.h"

#include <errno.h>
#include <stdlib.h>

#include "ai_conversations_sql.h"
#include "assistant/completion.h"
#include "base/clock.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "json/jr.h"
#include "loop/background.h"

#define QUEUED_MAX    ((size_t)2 << 20) /* more unsent bytes end a feed; an answer fits */
#define TICK_MS       200
#define WRITE_MS      400   /* interval of storing new text */
#define POLL_MS       1000  /* interval of polling the row when there is no new text */
#define ABANDONED_MS  3000  /* time without a listener, after which the answer is cancelled */
#define END_MS        60000 /* time in which storing the end is retried */
#define END_RETRY_MS  300
#define ROUNDS_MAX    5
#define RESULTS_BYTES ((size_t)256 * 1024) /* results of all tools in one answer */
#define PROMPT_EXTRA_TOKENS                                                                        \
    4096 /* tokens that servers may count in addition to a request's bytes */

struct ai_answer {
    struct arena *arena; /* holds this struct */
    struct http_feed feed;
    struct ai_subscriber subscriber; /* the feed's client */
    bool is_feed_open;               /* the feed is open */
    int64_t client_left_ms;          /* when the feed's client left */
    int64_t project, user_id, conversation_id, message_id;
    struct model_server server;
    struct ai_request request;
    struct ai_reservation bill;
    struct share *slot;
    int64_t max_output_tokens;
    int64_t prompt_tokens, tokens; /* used so far */
    bool tools;
    int64_t key_id;
    struct str request_id;
    size_t result_bytes; /* results of tools so far */
    struct completion completion;
    struct arena *scratch;    /* for one chunk */
    int64_t characters;       /* characters sent so far */
    struct task *writer;      /* the task that reads from the server; NULL = none */
    struct arena *poll_arena; /* for one poll */
    size_t stored_bytes;      /* bytes of the text that are stored */
    int64_t polled_ms, renewed_ms;
    struct await tick;
    bool is_tick_waiting;
    bool is_read, is_cancelled;
    struct model_refusal refusal;
    int read_rc; /* result of the reading */
};

/* --- events --- */

static void ai_answer_emit(struct ai_answer *answer, struct str event)
{
    struct http_chunk *chunk = http_chunk_new(event);

    http_feed_send(&answer->feed, chunk);
    http_chunk_unref(chunk);
}

/* --- reading --- */

static int ai_answer_on_chunk(struct str event, void *arg)
{
    struct ai_answer *answer = arg;
    struct completion *completion = &answer->completion;
    struct jr_error error;
    json_t *chunk;

    arena_reset(answer->scratch);
    if (jr_parse_external(answer->scratch, event, &chunk, &error) != 0)
        return ASSISTANT_BAD;
    TRY(completion_add(completion, chunk));
    if (completion->has_failed) {
        ai_error_store(&answer->request, chunk);
        return ASSISTANT_BAD;
    }
    if (completion->new_bytes == 0)
        return 0;
    struct str text = strbuf_view(&completion->text);
    text = (struct str){text.ptr + text.len - completion->new_bytes, completion->new_bytes};
    answer->characters += (int64_t)utf8_length(text);
    ai_answer_emit(answer, ai_event_delta(answer->scratch, answer->characters, text));
    return 0;
}

/* --- tools --- */

/* co: Runs one call and stores its result, as a message of the conversation and an entry of the
 * audit log. */
AWAITS static int ai_answer_run_tool(struct task *task,
                                     struct ai_answer *answer,
                                     const struct ai_tool_user *user,
                                     const struct completion_call *call,
                                     struct str *ret_result)
{
    struct ai_tool_result result;
    struct str name = call->name.len > 0 ? strbuf_view(&call->name) : STR("");
    struct str arguments = call->arguments.len > 0 ? strbuf_view(&call->arguments) : STR("{}");

    TRY(ai_tool_run(task, user, name, arguments, &result));
    answer->result_bytes += result.text.len;
    if (answer->result_bytes > RESULTS_BYTES) {
        result.text = STR("{\"error\":{\"code\":\"too_large_answer\",\"detail\":\"The results of "
                          "tools are too large together: request no more.\"}}");
        result.needs_confirmation = false;
    }
    *ret_result = result.text;
    json_t *detail = jr_attach(
        task->arena,
        json_pack(
            "{s:o,s:I}", "tool", jr_text(name), "message_id", (json_int_t)answer->message_id));
    struct db_call calls[] = {
        db_call(SQL_AI_MESSAGE_TOOL(.conversation_id = answer->conversation_id,
                                    .content = result.text,
                                    .status = result.needs_confirmation ? STR("waiting")
                                                                        : STR("complete"),
                                    .tool = name,
                                    .arguments = arguments)),
        audit_call(task->arena,
                   result.caller,
                   "ai.tool",
                   "ai_conversation",
                   answer->conversation_id,
                   jr_print(task->arena, detail),
                   answer->request_id),
    };
    int rc = db_batch(task, &user->project->db, calls, ARRAY_LEN(calls), NULL);
    if (rc == 0 && result.needs_confirmation)
        ai_answer_emit(
            answer, ai_event_confirm(task->arena, sql_ai_message_tool_row(&calls[0].rows, 0).id));
    return rc > 0 ? PROJECT_UNAVAILABLE : rc;
}

static json_t *call_json(const struct completion_call *call, struct str id)
{
    return json_pack("{s:o,s:s,s:{s:o,s:o}}",
                     "id",
                     jr_text(id),
                     "type",
                     "function",
                     "function",
                     "name",
                     jr_text(call->name.len > 0 ? strbuf_view(&call->name) : STR("")),
                     "arguments",
                     jr_text(call->arguments.len > 0 ? strbuf_view(&call->arguments) : STR("{}")));
}

static json_t *result_json(struct str id, struct str result)
{
    return json_pack(
        "{s:s,s:o,s:o}", "role", "tool", "tool_call_id", jr_text(id), "content", jr_text(result));
}

/* co: Runs the tools that the model called, and adds their results to the next request. */
AWAITS static int ai_answer_run_tools(struct task *task, struct ai_answer *answer)
{
    struct ai_tool_user user = {.user_id = answer->user_id, .key_id = answer->key_id};
    struct jr_error error;
    json_t *calls;
    json_t *body;

    TRY(project_find_number(task, gateway_directory(), answer->project, &user.project));
    MUST(jr_parse(task->arena, answer->request.body, &body, &error) == 0);
    json_t *messages = json_object_get(body, "messages");
    json_t *requested =
        json_pack("{s:s,s:s,s:[]}", "role", "assistant", "content", "", "tool_calls");
    calls = json_object_get(requested, "tool_calls");
    (void)json_array_append_new(messages, requested);
    for (size_t i = 0; i < answer->completion.call_count; i++) {
        const struct completion_call *call = &answer->completion.calls[i];
        struct str id =
            call->id.len > 0 ? strbuf_view(&call->id) : arena_printf(task->arena, "call_%zu", i);
        struct str result;
        ai_answer_emit(answer,
                       ai_event_named(task->arena, -1, "tool", "tool", strbuf_view(&call->name)));
        TRY(ai_answer_run_tool(task, answer, &user, call, &result));
        (void)json_array_append_new(calls, call_json(call, id));
        (void)json_array_append_new(messages, result_json(id, result));
    }
    answer->request.body = jr_print(task->arena, body);
    return 0;
}

/* --- requests --- */

/* Adds the tokens that one request to the server used. */
static void ai_answer_count_tokens(struct ai_answer *answer)
{
    const struct completion *completion = &answer->completion;
    int64_t requested = (int64_t)answer->request.body.len;
    int64_t bytes = (int64_t)completion->bytes;
    int64_t most = answer->max_output_tokens > bytes ? answer->max_output_tokens : bytes;

    answer->prompt_tokens += completion_tokens(
        completion->usage.prompt, answer->request.body.len, requested + PROMPT_EXTRA_TOKENS);
    answer->tokens += completion_tokens(completion->usage.answer, completion->bytes, most);
}

AWAITS static int ai_answer_request(struct task *task, struct ai_answer *answer)
{
    struct fetch_stream *stream;
    bool done;

    TRY(ai_request_send(task, &answer->request, &stream, &answer->refusal));
    int rc = model_answer_read(task, stream, ai_answer_on_chunk, answer, &done);
    ai_answer_count_tokens(answer);
    TRY(rc);
    return done || answer->completion.finish.len > 0 ? 0 : FETCH_UNREACHABLE;
}

/* co: Sends the request. While the model calls tools, runs the tools and sends a further request
 * with their results, at most ROUNDS_MAX times. */
AWAITS static int ai_answer_read(struct task *task, struct ai_answer *answer)
{
    for (int round = 0;; round++) {
        TRY(ai_answer_request(task, answer));
        if (answer->completion.call_count == 0 || !answer->tools)
            return 0;
        if (round == ROUNDS_MAX)
            return ASSISTANT_BAD;
        TRY(ai_answer_run_tools(task, answer));
        completion_continue(&answer->completion);
    }
}

AWAITS static int ai_answer_read_run(struct task *task, void *arg)
{
    struct ai_answer *answer = arg;

    answer->writer = task;
    answer->read_rc = ai_answer_read(task, answer);
    answer->writer = NULL;
    answer->is_read = true;
    if (answer->is_tick_waiting) {
        answer->is_tick_waiting = false;
        await_done(&answer->tick, 0);
    }
    return 0;
}

/* Returns the text so far. Never null, because the column `content` is not null. */
static struct str ai_answer_text(const struct ai_answer *answer)
{
    const struct strbuf *text = &answer->completion.text;

    return text->len > 0 ? strbuf_view(text) : STR("");
}

/* --- storing and polling --- */

static void tick_abandon(struct await *await)
{
    CONTAINER_OF(await, struct ai_answer, tick)->is_tick_waiting = false;
}

/* co: Waits for the next tick or the end of the reading. Returns false when the reading has ended,
 * or this task is cancelled or past its deadline. */
AWAITS static bool ai_answer_wait_tick(struct task *task, struct ai_answer *answer)
{
    if (answer->is_read)
        return false;
    await_init(&answer->tick);
    answer->tick.abandon = tick_abandon;
    answer->is_tick_waiting = true;
    int rc = await_wait(task, &answer->tick, TICK_MS);
    bool late = task->deadline_ms != 0 && clock_mono_ms() >= task->deadline_ms;
    return !answer->is_read && rc != -ECANCELED && !late;
}

static void ai_answer_on_closed(void *arg)
{
    struct ai_answer *answer = arg;

    answer->is_feed_open = false;
    answer->client_left_ms = clock_mono_ms();
}

static void ai_answer_stop(struct ai_answer *answer)
{
    answer->is_cancelled = true;
    if (answer->writer)
        task_cancel(answer->writer);
}

/* co: Ends the feed when its client may no longer read the answer, as if the client had left. */
AWAITS static void ai_answer_check_client(struct task *task, struct ai_answer *answer)
{
    const char *code = answer->is_feed_open ? ai_subscriber_check(task, &answer->subscriber) : NULL;

    if (!code || !answer->is_feed_open)
        return;
    ai_answer_emit(answer, ai_event_end(task->arena, code));
    http_feed_close(&answer->feed);
    ai_answer_on_closed(answer);
}

static bool ai_answer_is_due(const struct ai_answer *answer)
{
    int64_t elapsed_ms = clock_mono_ms() - answer->polled_ms;
    bool idle = answer->completion.text.len == answer->stored_bytes && answer->is_feed_open;

    return elapsed_ms >= (idle ? POLL_MS : WRITE_MS);
}

/* co: Renews the lease, stores the text, and checks whether the answer is still wanted. The next
 * poll repeats a step that failed. */
AWAITS static void
ai_answer_poll(struct task *task, struct ai_answer *answer, struct project *project)
{
    size_t len = answer->completion.text.len;
    struct rows rows;

    answer->polled_ms = clock_mono_ms();
    if (answer->polled_ms - answer->renewed_ms >= AI_RENEW_MS &&
        ai_running_renew(task, project, answer->bill.running_id) == 0)
        answer->renewed_ms = answer->polled_ms;
    if (db_query(
            task,
            &project->db,
            SQL_AI_MESSAGE_PROGRESS(.content = ai_answer_text(answer), .id = answer->message_id),
            &rows) != 0)
        return;
    if (rows.count == 0) {
        ai_answer_stop(answer);
        return;
    }
    const struct sql_ai_message_progress_row row = sql_ai_message_progress_row(&rows, 0);
    bool left = !answer->is_feed_open && clock_mono_ms() - answer->client_left_ms >= ABANDONED_MS;
    if (row.cancel || (left && !row.wanted))
        ai_answer_stop(answer);
    if (row.wanted && len != answer->stored_bytes)
        ai_follow_notify(answer->project, answer->message_id);
    answer->stored_bytes = len;
}

AWAITS static int ai_answer_watch_run(struct task *task, void *arg)
{
    struct ai_answer *answer = arg;
    struct arena *own = task->arena;
    struct project *project;

    int rc = project_find_number(task, gateway_directory(), answer->project, &project);
    if (rc != 0) {
        ai_answer_stop(answer);
        return 0;
    }
    answer->polled_ms = answer->renewed_ms = clock_mono_ms();
    while (ai_answer_wait_tick(task, answer)) {
        task->arena = answer->poll_arena;
        ai_answer_check_client(task, answer);
        if (ai_answer_is_due(answer))
            ai_answer_poll(task, answer, project);
        task->arena = own;
        arena_reset(answer->poll_arena);
    }
    return 0;
}

/* --- the end --- */

static const char *ai_answer_status(const struct ai_answer *answer)
{
    if (answer->read_rc == 0)
        return "complete";
    return answer->is_cancelled ? "cancelled" : "interrupted";
}

static struct str ai_answer_code(const struct ai_answer *answer)
{
    if (answer->read_rc == 0 || answer->is_cancelled)
        return STR_NONE;
    switch (answer->read_rc) {
    case FETCH_TIMEOUT:
    case -ETIMEDOUT:
        return STR("timeout");
    case PROJECT_UNAVAILABLE:
        return STR("dependency_unavailable");
    case ASSISTANT_REFUSED:
        return answer->refusal.status == 429 ? STR("rate_limited") : STR("provider_error");
    case ASSISTANT_BAD:
    case FETCH_TOO_LARGE:
        return STR("provider_error");
    case -ECANCELED:
        return STR("service_draining");
    default:
        return STR("unreachable");
    }
}

/* co: Stores the end of the message and books its tokens, both or neither. A repetition changes
 * nothing. */
AWAITS static int
ai_answer_store(struct task *task, struct ai_answer *answer, struct project *project)
{
    const struct completion *completion = &answer->completion;
    struct db_call calls[] = {
        db_call(SQL_AI_MESSAGE_END(.content = ai_answer_text(answer),
                                   .status = str_from(ai_answer_status(answer)),
                                   .code = ai_answer_code(answer),
                                   .finish_reason = completion->finish,
                                   .prompt_tokens = answer->prompt_tokens,
                                   .completion_tokens = answer->tokens,
                                   .id = answer->message_id)),
        ai_usage_settle_call(task->arena, &answer->bill, answer->prompt_tokens, answer->tokens),
    };

    return db_batch(task, &project->db, calls, ARRAY_LEN(calls), NULL);
}

AWAITS static void ai_answer_finish(struct task *task, struct ai_answer *answer)
{
    struct project *project;
    struct str event;
    int rc;

    do {
        rc = project_find_number(task, gateway_directory(), answer->project, &project);
        if (rc == 0)
            rc = ai_answer_store(task, answer, project);
    } while (rc != 0 && rc != PROJECT_NOT_FOUND && task_sleep(task, END_RETRY_MS) == 0);
    if (rc == 0)
        rc = ai_event_done(
            task, project, answer->user_id, answer->conversation_id, answer->message_id, &event);
    ai_follow_notify(answer->project, answer->message_id);
    if (rc == 0)
        ai_answer_emit(answer, event);
    else
        log_debug("ai.answer_unstored", L_I64("message", answer->message_id), L_RESULT("rc", rc));
}

static void ai_answer_free(struct ai_answer *answer)
{
    http_feed_close(&answer->feed);
    ai_slot_release(answer->slot);
    arena_free(answer->scratch);
    arena_free(answer->poll_arena);
    arena_free(answer->arena);
}

AWAITS static void ai_answer_end(struct task *task, void *arg)
{
    struct ai_answer *answer = arg;

    task->project = answer->project;
    ai_answer_finish(task, answer);
    ai_answer_free(answer);
}

/* ai_answer_end() runs in a separate background task, because this task may have been cancelled. */
AWAITS static void ai_answer_run(struct task *task, void *arg)
{
    struct ai_answer *answer = arg;
    struct task_call calls[] = {{.fn = ai_answer_read_run, .arg = answer},
                                {.fn = ai_answer_watch_run, .arg = answer}};

    task->project = answer->project;
    (void)!task_all(task, calls, ARRAY_LEN(calls));
    background_run(END_MS, ai_answer_end, answer);
}

/* --- the beginning --- */

static struct ai_answer *ai_answer_new(struct req *r, const struct ai_question *question)
{
    struct arena *arena = arena_new(0);
    struct ai_answer *answer = ARENA_NEW(arena, answer);

    answer->arena = arena;
    answer->scratch = arena_new(0);
    answer->poll_arena = arena_new(0);
    answer->project = r->scope->project->number;
    answer->user_id = r->scope->caller->user_id;
    answer->conversation_id = question->conversation_id;
    answer->message_id = question->message_id;
    answer->server = (struct model_server){
        .endpoint = arena_dup(arena, question->config->server.endpoint),
        .key = arena_dup(arena, question->config->server.key),
        .stall_ms = question->config->server.stall_ms,
    };
    answer->bill = *question->bill;
    answer->bill.model = arena_dup(arena, question->bill->model);
    answer->request = (struct ai_request){.project = answer->project,
                                          .server = &answer->server,
                                          .model = answer->bill.model,
                                          .body = arena_dup(arena, question->body)};
    if (question->config->output_limit.len > 0)
        answer->request.output_limit = arena_dup(arena, question->config->output_limit);
    answer->bill.day = arena_dup(arena, question->bill->day);
    answer->slot = ai_slot_detach(question->hold);
    answer->max_output_tokens = question->config->max_output_tokens;
    answer->tools = question->config->tools;
    answer->key_id = r->scope->caller->kind == CALLER_KEY ? r->scope->caller->key_id : 0;
    answer->request_id = arena_dup(arena, r->request_id);
    completion_init(&answer->completion, arena);
    return answer;
}

int ai_answer_begin(struct req *r, const struct ai_question *question)
{
    if (ai_limits_are_stopped()) /* the message is left as if the process had died */
        return -ECANCELED;
    struct ai_answer *answer = ai_answer_new(r, question);
    struct str start = arena_printf(r->task.arena,
                                    "{\"message_id\":%lld,\"question_id\":%lld}",
                                    (long long)question->message_id,
                                    (long long)question->question_id);

    answer->feed = (struct http_feed){
        .on_closed = ai_answer_on_closed, .arg = answer, .queued_max = QUEUED_MAX};
    resp_header(r, "X-Accel-Buffering", STR("no")); /* proxies must not buffer events */
    ai_subscriber_init(&answer->subscriber, r, PERM_SVC_AI_CHAT_CREATE);
    answer->is_feed_open = http_feed_begin(r, STR("text/event-stream"), &answer->feed);
    answer->client_left_ms = clock_mono_ms();
    bool begun = answer->is_feed_open;
    if (begun)
        ai_answer_emit(answer, ai_event(r->task.arena, 0, "start", start));
    background_run(AI_REQUEST_MS, ai_answer_run, answer);
    return begun ? 200 : -ECANCELED;
}
