/*
 * Calls to the payment processor over fetch().
 *
 * Retries: a GET changes nothing, a POST with the same key gets the same answer and is carried out
 * once, and a DELETE of a deleted object says so. So a request may be sent again after a lost
 * connection, both here and, on a reused connection that turns out to be dead, inside fetch().
 *
 * Time: an attempt takes at most timeout_ms, and all attempts end a second before the task's
 * deadline, so that the caller can still record what is known.
 */
#include "payments/processor.h"
#include "payments/form.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/codec.h"
#include "base/panic.h"
#include "crypto/digest.h"
#include "fetch/fetch.h"
#include "json/jr_off_thread.h"
#include "project/project.h"

#define BODY_BYTES_MAX     (1U << 20U)
#define RESERVE_MS         1000 /* before the task's deadline, left to the caller */
#define ATTEMPT_LEAST_MS   200  /* with less time left an attempt is useless */
#define ID_BYTES_MAX       255U
#define KEY_BYTES_MAX      255U
#define LOCAL_KEY_BYTES    200U
#define HEADERS_MAX        6U
#define BASE_URL_BYTES     257U
#define DEFAULT_RETRIES    2U
#define DEFAULT_TIMEOUT_MS 20000

static struct {
    char base_url[BASE_URL_BYTES];
    int64_t timeout_ms;
    unsigned retries;
} configured = {.base_url = "https://api.stripe.com",
                .timeout_ms = DEFAULT_TIMEOUT_MS,
                .retries = DEFAULT_RETRIES};

void processor_init(const struct processor_config *config)
{
    struct str url = config->base_url;

    while (str_ends(url, STR("/")))
        url.len--;
    MUST(url.len < sizeof(configured.base_url));
    (void)snprintf(configured.base_url, sizeof(configured.base_url), "%.*s", STR_ARG(url));
    configured.timeout_ms = config->timeout_ms;
    configured.retries = config->retries;
}

/* --- requests --- */

struct processor_exchange {
    struct task *task;
    const struct processor_request *request;
    struct fetch_header headers[HEADERS_MAX];
    size_t header_count;
    struct str url, body;
    bool changes; /* not a GET: after a lost answer the outcome is unknown */
};

static void
processor_add_header(struct processor_exchange *call, const char *name, struct str value)
{
    MUST(call->header_count < HEADERS_MAX);
    call->headers[call->header_count++] = (struct fetch_header){str_from(name), value};
}

/* Builds the request. PROCESSOR_NOT_CONFIGURED when the key, or the account that it needs, is
 * missing. */
static int exchange_init(struct processor_exchange *call,
                         struct task *task,
                         const struct processor_account *account)
{
    const struct processor_request *request = call->request;
    struct arena *arena = task->arena;
    struct str method = str_from(request->method);
    bool posts = str_is(method, "POST");

    if (account->secret_key.len == 0)
        return PROCESSOR_NOT_CONFIGURED;
    call->task = task;
    call->changes = !str_is(method, "GET");
    processor_add_header(
        call, "Authorization", arena_printf(arena, "Bearer %.*s", STR_ARG(account->secret_key)));
    processor_add_header(call, "Stripe-Version", STR(PROCESSOR_VERSION));
    processor_add_header(call, "Accept", STR("application/json"));
    if (account->mode == PROCESSOR_CONNECT && !request->platform) {
        if (account->account.len == 0)
            return PROCESSOR_NOT_CONFIGURED;
        processor_add_header(call, "Stripe-Account", account->account);
    }
    if (posts) {
        MUST(request->key.len > 0 && request->key.len <= KEY_BYTES_MAX);
        processor_add_header(call, "Idempotency-Key", request->key);
        processor_add_header(call, "Content-Type", STR("application/x-www-form-urlencoded"));
        call->body = request->form;
    }
    bool query = !posts && request->form.len > 0;
    call->url = arena_printf(arena,
                             "%s%.*s%s%.*s",
                             configured.base_url,
                             STR_ARG(request->path),
                             query ? "?" : "",
                             query ? (int)request->form.len : 0,
                             query ? request->form.ptr : "");
    return 0;
}

/* --- answers --- */

/* Outcome of one attempt. */
struct processor_attempt {
    int rc; /* 0, a PROCESSOR_*, or a negative */
    bool may_retry;
    bool answer_lost; /* the processor may have acted, although no answer came */
    bool rejected;    /* rejected before anything was done */
};

static struct str dup_member(struct arena *arena, const json_t *object, const char *name)
{
    struct str text = jr_str(object, name);

    return text.ptr != NULL ? arena_dup(arena, text) : STR_NONE;
}

static void processor_read_error(struct arena *arena, struct processor_reply *reply)
{
    const json_t *error = json_object_get(reply->body, "error");
    const json_t *intent = json_object_get(error, "payment_intent");

    reply->type = dup_member(arena, error, "type");
    reply->code = dup_member(arena, error, "code");
    reply->decline_code = dup_member(arena, error, "decline_code");
    reply->message = dup_member(arena, error, "message");
    reply->param = dup_member(arena, error, "param");
    reply->intent = json_is_object(intent) ? intent : NULL;
}

static int reply_classify(const struct processor_reply *reply)
{
    switch (reply->status) {
    case 400:
        if (str_is(reply->type, "idempotency_error"))
            return PROCESSOR_REUSED_KEY;
        return str_is(reply->code, "rate_limit") ? PROCESSOR_UNAVAILABLE : PROCESSOR_INVALID;
    case 401:
    case 403:
        return PROCESSOR_REFUSED;
    case 402:
        return PROCESSOR_DECLINED;
    case 404:
        return PROCESSOR_NOT_FOUND;
    case 409:
        return PROCESSOR_CONFLICT;
    case 424:
    case 429:
        return PROCESSOR_UNAVAILABLE;
    default:
        return reply->status >= 400 && reply->status < 500 ? PROCESSOR_INVALID
                                                           : PROCESSOR_UNAVAILABLE;
    }
}

AWAITS static struct processor_attempt processor_read_answer(struct processor_exchange *call,
                                                             const struct fetch_response *response,
                                                             struct processor_reply *reply)
{
    struct arena *arena = call->task->arena;
    struct str retry = fetch_response_header(response, "Stripe-Should-Retry");
    struct jr_error error;
    json_t *body = NULL;

    *reply = (struct processor_reply){
        .status = response->status,
        .request_id = fetch_response_header(response, "Request-Id"),
        .replayed = str_is(fetch_response_header(response, "Idempotent-Replayed"), "true"),
    };
    if (jr_parse_external_off_thread(call->task, arena, response->body, &body, &error) == 0 &&
        json_is_object(body))
        reply->body = body;
    if (response->status >= 200 && response->status < 300) {
        if (reply->body != NULL)
            return (struct processor_attempt){.rc = 0};
        /* The call was carried out, but its answer cannot be read: the same key returns the answer
         * again. */
        return (struct processor_attempt){
            .rc = PROCESSOR_OUTCOME_UNKNOWN, .may_retry = true, .answer_lost = true};
    }
    processor_read_error(arena, reply);
    struct processor_attempt attempt = {.rc = reply_classify(reply),
                                        .answer_lost = response->resent};
    attempt.rejected =
        !attempt.answer_lost && (attempt.rc == PROCESSOR_REFUSED || response->status == 429);
    if (retry.ptr != NULL)
        attempt.may_retry = str_is(retry, "true");
    else
        attempt.may_retry = attempt.rc == PROCESSOR_CONFLICT || attempt.rc == PROCESSOR_UNAVAILABLE;
    return attempt;
}

/* Classifies a result of fetch() without an answer. */
static struct processor_attempt failure_classify(int rc)
{
    switch (rc) {
    case FETCH_UNREACHABLE:
    case FETCH_TIMEOUT:
        return (struct processor_attempt){
            .rc = PROCESSOR_OUTCOME_UNKNOWN, .may_retry = true, .answer_lost = true};
    case FETCH_TOO_LARGE:
        return (struct processor_attempt){.rc = PROCESSOR_OUTCOME_UNKNOWN, .answer_lost = true};
    case FETCH_BUSY:
        return (struct processor_attempt){
            .rc = PROCESSOR_UNAVAILABLE, .may_retry = true, .rejected = true};
    case FETCH_REFUSED:
        return (struct processor_attempt){.rc = PROCESSOR_UNAVAILABLE, .rejected = true};
    default: /* a request that cannot be sent is a defect: callers' texts do not cause it */
        return (struct processor_attempt){.rc = rc < 0 ? rc : ERROR(-EINVAL)};
    }
}

/* --- attempts --- */

/* Returns when the last attempt has to end (monotonic); 0 = no limit. */
static int64_t attempts_end_ms(const struct task *task, const struct processor_request *request)
{
    int64_t end_ms = task->deadline_ms > 0 ? task->deadline_ms - RESERVE_MS : 0;
    int64_t limit_ms = request->limit_ms > 0 ? clock_mono_ms() + request->limit_ms : 0;

    return end_ms == 0 || (limit_ms > 0 && limit_ms < end_ms) ? limit_ms : end_ms;
}

/* Milliseconds that an attempt may take from now on. */
static int64_t attempt_time_left_ms(int64_t end_ms)
{
    int64_t left = end_ms > 0 ? end_ms - clock_mono_ms() : configured.timeout_ms;

    return left < configured.timeout_ms ? left : configured.timeout_ms;
}

/* Logs an attempt. The path holds ids, no secrets. The query and the body are not logged: they may
 * hold people's addresses. */
static void attempt_log(const struct processor_exchange *call,
                        const struct processor_reply *reply,
                        const struct processor_attempt *attempt,
                        unsigned tries)
{
    enum log_level level = attempt->rc == 0 || attempt->rc == PROCESSOR_DECLINED ||
                                   attempt->rc == PROCESSOR_INVALID ||
                                   attempt->rc == PROCESSOR_NOT_FOUND
                               ? LOG_DEBUG
                               : LOG_WARN;

    log_event(level,
              "processor.answered",
              L_CSTR("method", call->request->method),
              L_STR("path", call->request->path),
              L_I64("status", reply->status),
              L_STR("processor_request", reply->request_id),
              L_STR("type", reply->type),
              L_STR("code", reply->code),
              L_RESULT("result", attempt->rc),
              L_I64("attempt", tries));
}

AWAITS static struct processor_attempt attempt_send(struct processor_exchange *call,
                                                    int64_t limit_ms,
                                                    unsigned tries,
                                                    struct processor_reply *reply)
{
    const struct fetch_request request = {
        .method = str_from(call->request->method),
        .url = call->url,
        .headers = call->headers,
        .nheaders = call->header_count,
        .body = call->body,
        .timeout_ms = limit_ms,
        .max_response_bytes = BODY_BYTES_MAX,
        .purpose = FETCH_PROCESSOR,
    };
    struct fetch_response response;

    *reply = (struct processor_reply){0};
    int rc = fetch(call->task, &request, &response);
    struct processor_attempt attempt =
        rc == 0 ? processor_read_answer(call, &response, reply) : failure_classify(rc);
    attempt_log(call, reply, &attempt, tries);
    return attempt;
}

int processor_call(struct task *task,
                   const struct payment_settings *settings,
                   const struct processor_request *request,
                   struct processor_reply *ret_reply)
{
    struct processor_exchange call = {.request = request};
    struct backoff pause = {.first_ms = 667, .most_ms = 5000}; /* at least half a second */
    struct processor_reply reply = {0};
    bool lost = false;
    bool not_done = true;

    TRY(exchange_init(&call, task, &settings->processor));
    struct processor_attempt last = {.rc = PROCESSOR_UNAVAILABLE};
    int64_t end_ms = attempts_end_ms(task, request);
    for (unsigned tries = 0;; tries++) {
        int64_t limit_ms = attempt_time_left_ms(end_ms);
        if (limit_ms < ATTEMPT_LEAST_MS)
            break;
        last = attempt_send(&call, limit_ms, tries + 1, &reply);
        if (last.rc < 0)
            return last.rc;
        lost = lost || last.answer_lost;
        not_done = not_done && last.rejected;
        int64_t delay_ms = backoff_next(&pause);
        if (!last.may_retry || tries >= configured.retries ||
            (end_ms > 0 && end_ms - clock_mono_ms() < delay_ms + ATTEMPT_LEAST_MS))
            break;
        TRY(task_sleep(task, delay_ms));
    }
    /* After a lost answer, a refusal of the retry says nothing about what happened. */
    bool answers = last.rc != PROCESSOR_UNAVAILABLE && last.rc != PROCESSOR_CONFLICT &&
                   last.rc != PROCESSOR_REFUSED && last.rc != PROCESSOR_OUTCOME_UNKNOWN;
    if (lost && !answers)
        last.rc = call.changes ? PROCESSOR_OUTCOME_UNKNOWN : PROCESSOR_UNAVAILABLE;
    reply.not_done = not_done;
    *ret_reply = reply;
    return last.rc;
}

bool processor_is_refusal(int rc)
{
    return rc == PROCESSOR_DECLINED || rc == PROCESSOR_INVALID || rc == PROCESSOR_NOT_FOUND;
}

bool processor_is_not_done(int rc, const struct processor_reply *reply)
{
    return rc == PROCESSOR_NOT_CONFIGURED || (rc > 0 && reply->not_done);
}

/* --- paths and keys --- */

struct str processor_path(struct arena *arena, const char *head, struct str id, const char *tail)
{
    struct strbuf escaped;
    struct str rest = codec_percent(arena, id.len <= ID_BYTES_MAX ? id : STR_NONE);

    /* "." and ".." would be resolved to another path on the way, and an empty id would be another
     * path. A text that is too long for an id becomes an empty id, because its URL would be too
     * long to call. */
    strbuf_init(&escaped, arena, rest.len * 3 + 1);
    for (size_t i = 0; i < rest.len; i++) {
        if (rest.ptr[i] == '.')
            strbuf_cstr(&escaped, "%2E");
        else
            strbuf_char(&escaped, rest.ptr[i]);
    }
    if (rest.len == 0)
        strbuf_char(&escaped, '-');
    return arena_printf(arena, "%s/%.*s%s", head, STR_ARG(strbuf_view(&escaped)), tail);
}

static bool key_fits_header(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
            return false;
    return text.len <= LOCAL_KEY_BYTES;
}

struct str processor_key(struct arena *arena,
                         const struct project *project,
                         const char *what,
                         int64_t id,
                         struct str salt)
{
    /* Ids begin again at 1 in a database that is created again, but the processor still remembers
     * the old keys. The project's time of creation distinguishes the keys. */
    struct str head = arena_printf(arena,
                                   "gw:%lld-%llx:%s:%lld",
                                   (long long)project->number,
                                   (unsigned long long)project->created_ms,
                                   what,
                                   (long long)id);
    struct str key = arena_printf(arena, "%.*s:%.*s", STR_ARG(head), STR_ARG(salt));

    if (key_fits_header(key))
        return key;
    return arena_printf(arena, "%.*s:%.*s", STR_ARG(head), STR_ARG(digest_sha256_hex(arena, salt)));
}

bool processor_key_is_once(struct str key)
{
    return memmem(key.ptr, key.len, ":" PROCESSOR_ONCE, sizeof(":" PROCESSOR_ONCE) - 1) != NULL;
}
