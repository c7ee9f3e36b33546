/* Firebase Cloud Messaging, HTTP v1: access tokens and messages. */
#include "base/clock.h"
#include "base/panic.h"
#include "deliver.h"
#include "fetch/fetch.h"
#include "send.h"

#define ANSWER_BYTES     65536
#define GRANT_FIRST_MS   500
#define GRANT_LAST_MS    15000
#define GRANT_REFUSED_MS 10000

/* --- the access token --- */

struct waiter {
    struct await await;
    struct list link;
};

static void grant_abandon(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct waiter, await)->link);
}

AWAITS static int grant_wait(struct task *task, struct grant *grant)
{
    struct waiter waiter;

    await_init(&waiter.await);
    waiter.await.abandon = grant_abandon;
    list_init(&waiter.link);
    list_append(&grant->waiters, &waiter.link);
    return await_wait(task, &waiter.await, 0);
}

static void grant_drop(struct grant *grant)
{
    if (grant->arena != NULL)
        arena_free(grant->arena);
    grant->arena = NULL;
}

/* Requests an access token once. Returns 0 with the token in the grant, FCM_TOKEN_REFUSED or
 * FCM_TOKEN_UNAVAILABLE with *ret_code, or a negative. */
AWAITS static int
grant_request_once(struct task *task, struct providers *providers, struct str *ret_code)
{
    const struct fetch_header headers[] = {
        {STR("Content-Type"), STR("application/x-www-form-urlencoded")}};
    struct grant *grant = &providers->grant;
    struct fetch_response response;
    struct arena *arena = arena_new(0);
    struct fcm_token token;

    deliver_stats()->grants++;
    int rc = fetch(task,
                   &(struct fetch_request){
                       .method = STR("POST"),
                       .url = dispatcher_conf()->fcm_token_url,
                       .headers = headers,
                       .nheaders = ARRAY_LEN(headers),
                       .body = fcm_grant_form(task->arena, &providers->account, clock_wall_ms()),
                       .timeout_ms = dispatcher_conf()->push_timeout_ms,
                       .max_response_bytes = ANSWER_BYTES,
                       .purpose = FETCH_PUSH_TOKEN,
                   },
                   &response);
    if (rc == 0) {
        rc = fcm_token_read(
            arena, response.status, response.body, clock_wall_ms(), &token, ret_code);
        *ret_code = rc != 0 ? arena_dup(task->arena, *ret_code) : STR_NONE;
    } else if (rc > 0) {
        *ret_code = push_answer_from_fetch(rc).code;
        rc = FCM_TOKEN_UNAVAILABLE;
    }
    if (rc != 0) {
        arena_free(arena);
        return rc;
    }
    grant_drop(grant);
    grant->arena = arena;
    grant->token = token;
    /* A token that is due for renewal from the start is used until shortly before it expires. */
    grant->until_ms = token.renew_ms > clock_wall_ms() ? token.renew_ms : token.expires_ms - 1000;
    return 0;
}

/* Requests an access token, repeatedly while the endpoint is down, for at most
 * GROUNDWORK_PUSH_DEADLINE_MS. All other deliveries of the project wait for the token. */
AWAITS static int grant_request(struct task *task, struct providers *providers)
{
    int64_t until_ms = clock_mono_ms() + dispatcher_conf()->push_deadline_ms;
    int64_t pause_ms = GRANT_FIRST_MS;
    struct grant *grant = &providers->grant;
    struct str code;

    int rc = grant_request_once(task, providers, &code);
    while (rc == FCM_TOKEN_UNAVAILABLE && clock_mono_ms() + pause_ms < until_ms) {
        TRY(task_sleep(task, pause_ms));
        pause_ms = pause_ms * 2 < GRANT_LAST_MS ? pause_ms * 2 : GRANT_LAST_MS;
        rc = grant_request_once(task, providers, &code);
    }
    if (rc > 0) {
        deliver_stats()->grants_failed++;
        grant->failed_until_mono_ms = clock_mono_ms() + GRANT_REFUSED_MS;
        (void)snprintf(grant->code, sizeof(grant->code), "%.*s", STR_ARG(code));
        log_warn("grant.failed", L_I64("project", providers->project), L_STR("code", code));
    }
    return rc;
}

static bool grant_is_valid(const struct grant *grant, struct str stale)
{
    return grant->arena != NULL && !str_eq(grant->token.authorization, stale) &&
           clock_wall_ms() < grant->until_ms;
}

/* co: Sets *ret_authorization to the header's value, arena-owned. `stale` is a value that FCM did
 * not accept. Returns 0, FCM_TOKEN_REFUSED with the code in the grant, or a negative. */
AWAITS static int grant_authorize(struct task *task,
                                  struct providers *providers,
                                  struct str stale,
                                  struct str *ret_authorization)
{
    struct grant *grant = &providers->grant;

    while (!grant_is_valid(grant, stale)) {
        if (clock_mono_ms() < grant->failed_until_mono_ms)
            return FCM_TOKEN_REFUSED;
        if (grant->is_requested) {
            TRY(grant_wait(task, grant));
            continue;
        }
        grant->is_requested = true;
        int rc = grant_request(task, providers);
        grant->is_requested = false;
        struct list *node;
        while ((node = list_shift(&grant->waiters)) != NULL)
            await_done(&LIST_ITEM(node, struct waiter, link)->await, 0);
        if (rc < 0)
            return rc;
        if (rc > 0)
            return FCM_TOKEN_REFUSED;
        break; /* use the new token, however short its life */
    }
    *ret_authorization = arena_dup(task->arena, grant->token.authorization);
    return 0;
}

/* --- messages --- */

AWAITS static int fcm_post(struct task *task,
                           struct delivery *delivery,
                           struct str authorization,
                           struct push_answer *ret)
{
    const struct fetch_header headers[] = {
        {STR("Authorization"), authorization},
        {STR("Content-Type"), STR("application/json")},
    };
    struct fetch_response response;

    deliver_stats()->requests++;
    int rc =
        fetch(task,
              &(struct fetch_request){
                  .method = STR("POST"),
                  .url = delivery->providers->send_url,
                  .headers = headers,
                  .nheaders = ARRAY_LEN(headers),
                  .body = push_fcm_body(task->arena, delivery->send->fcm_rest, delivery->token),
                  .timeout_ms = dispatcher_conf()->push_timeout_ms,
                  .max_response_bytes = ANSWER_BYTES,
                  .purpose = FETCH_PUSH_FCM,
              },
              &response);
    if (rc < 0)
        return rc;
    *ret = rc > 0 ? push_answer_from_fetch(rc)
                  : fcm_answer_read(task->arena,
                                    response.status,
                                    fetch_response_header(&response, "retry-after"),
                                    response.body,
                                    clock_wall_ms());
    return 0;
}

AWAITS static int fcm_request(struct task *task, struct delivery *delivery, struct push_answer *ret)
{
    struct providers *providers = delivery->providers;
    struct str authorization = STR_NONE;

    for (int round = 0; round < 2; round++) {
        delivery->is_idle = true;
        int rc = grant_authorize(task, providers, authorization, &authorization);
        delivery->is_idle = false;
        if (rc < 0)
            return rc;
        if (rc > 0) {
            *ret = (struct push_answer){
                .outcome = PUSH_FAILED,
                .code = push_code(task->arena, str_from(providers->grant.code), 401)};
            return 0;
        }
        TRY(fcm_post(task, delivery, authorization, ret));
        if (ret->outcome != PUSH_RENEW)
            break;
    }
    return 0;
}

void deliver_fcm(struct task *task, struct delivery *delivery)
{
    deliver_until_final(task, delivery, PUSH_FCM_RETRIES, fcm_request);
}
