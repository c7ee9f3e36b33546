/* Web push: encrypts a message for one subscription and posts it to the subscription's endpoint. */
#include "base/clock.h"
#include "deliver.h"
#include "fetch/fetch.h"
#include "push/webpush_encrypt.h"
#include "send.h"

#define ANSWER_BYTES 16384

/* Made once per device, so that a repetition sends the same message. */
struct webpush_prepared {
    struct webpush_subscription subscription;
    struct webpush_body body;
};

AWAITS static int webpush_post(struct task *task,
                               struct delivery *delivery,
                               const struct webpush_prepared *prepared,
                               struct push_answer *ret_answer)
{
    const struct webpush_subscription *subscription = &prepared->subscription;
    const struct push_message *message = &delivery->send->request.message;
    int64_t ttl_s = message->ttl_s > 0 ? message->ttl_s : PUSH_TTL_S_MAX;
    const struct fetch_header headers[] = {
        {STR("Authorization"),
         vapid_header(
             delivery->providers->vapid, task->arena, subscription->origin, clock_wall_ms())},
        {STR("Content-Encoding"), STR("aes128gcm")},
        {STR("Content-Type"), STR("application/octet-stream")},
        {STR("TTL"), arena_printf(task->arena, "%lld", (long long)ttl_s)},
        {STR("Urgency"), STR("high")},
    };
    struct fetch_response response;

    deliver_stats()->requests++;
    int rc = fetch(task,
                   &(struct fetch_request){
                       .method = STR("POST"),
                       .url = subscription->endpoint,
                       .headers = headers,
                       .nheaders = ARRAY_LEN(headers),
                       .body = {(const char *)prepared->body.bytes, prepared->body.len},
                       .timeout_ms = dispatcher_conf()->push_timeout_ms,
                       .max_response_bytes = ANSWER_BYTES,
                       .purpose = FETCH_PUSH_WEB,
                   },
                   &response);
    if (rc < 0)
        return rc;
    *ret_answer = rc > 0 ? push_answer_from_fetch(rc)
                         : webpush_answer_read(task->arena,
                                               response.status,
                                               fetch_response_header(&response, "retry-after"),
                                               clock_wall_ms());
    return 0;
}

static const char *
webpush_prepare(struct task *task, const struct delivery *delivery, struct webpush_prepared *to)
{
    if (webpush_subscription_read(task->arena, delivery->token, &to->subscription) != 0)
        return "INVALID_SUBSCRIPTION";
    if (!to->subscription.secure && !fetch_url_is_allowed(to->subscription.endpoint))
        return "UNREACHABLE";
    switch (webpush_encrypt(&to->subscription, delivery->send->web_payload, 0, &to->body)) {
    case 0:
        return NULL;
    case WEBPUSH_TOO_LARGE:
        return "PAYLOAD_TOO_LARGE";
    default:
        return "INVALID_SUBSCRIPTION";
    }
}

AWAITS static int
webpush_request(struct task *task, struct delivery *delivery, struct push_answer *ret_answer)
{
    return webpush_post(task, delivery, delivery->prepared, ret_answer);
}

void deliver_web(struct task *task, struct delivery *delivery)
{
    struct webpush_prepared *prepared = ARENA_NEW(task->arena, prepared);
    const char *wrong = webpush_prepare(task, delivery, prepared);

    if (wrong != NULL) {
        delivery_set_outcome(delivery, PUSH_FAILED, str_from(wrong));
        return;
    }
    delivery->prepared = prepared;
    deliver_until_final(task, delivery, PUSH_WEBPUSH_RETRIES, webpush_request);
}
