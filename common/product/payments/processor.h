#pragma once
/*
 * Calls to the payment processor (Stripe REST v1): form encoded, with the project's key, its
 * connected account, a pinned version and, on POST, an idempotency key. A caller that moves money
 * records the call (path, form, key) in its row first, so that an unknown outcome is settled by
 * repeating the call.
 */
#include <jansson.h>
#include <stdbool.h>

#include "base/result.h"
#include "base/strbuf.h"
#include "loop/task.h"
#include "payments/form.h"
#include "payments/payment_settings.h"

#define PROCESSOR_VERSION "2026-10-28.endive"

/* --- the call --- */

/* Texts are borrowed until the call returns. */
struct processor_request {
    const char *method; /* "GET", "POST", "DELETE"; the form of GET and DELETE becomes the query */
    struct str path;    /* "/v1/payment_intents/pi_1/confirm": ids from processor_path() */
    struct str form;
    struct str key;   /* POST: required, at most 255 characters */
    bool platform;    /* without the account header: for accounts and account links */
    int64_t limit_ms; /* for all attempts together; 0 = until a second before the task's deadline */
};

/* Owned by the task's arena. */
struct processor_reply {
    long status;
    const json_t *body; /* NULL when the response has no readable object */
    struct str type, code, decline_code, message, param;
    const json_t *intent;  /* error.payment_intent, NULL when absent */
    struct str request_id; /* the processor's, for logs */
    bool replayed; /* the processor sent its stored answer to this key; it never sends another */
    bool not_done; /* every attempt was rejected before anything was done (401, 403, 429) or was not
                      sent: the call has no effect unless it is made again */
};

struct processor_config {
    struct str base_url; /* https://api.stripe.com */
    int64_t timeout_ms;  /* of one attempt */
    unsigned retries;    /* attempts after the first; usually 2 */
};
/* loop: Sets the configuration, once, after fetch_init(). Copies. */
void processor_init(const struct processor_config *config);

/* co: Makes a call. Retries with the same key when the processor asks for it (Stripe-Should-Retry),
 * else on 409, 424, 429, 5xx and lost connections. The pauses begin with 667 ms and double to 5 s,
 * each with up to a quarter more or less. All attempts end a second before the task's deadline.
 * Returns 0 with .body an object; PROCESSOR_DECLINED with .code, .decline_code, .message, .intent;
 * PROCESSOR_INVALID with .param, .message; another PROCESSOR_*, or a negative.
 * PROCESSOR_NOT_CONFIGURED and negatives leave *ret_reply unset. */
AWAITS int processor_call(struct task *task,
                          const struct payment_settings *settings,
                          const struct processor_request *request,
                          struct processor_reply *ret_reply) MUSTCHECK;

/* any: Returns whether a result of processor_call() is a refusal that the same call will always
 * get: declined, invalid, not found. */
bool processor_is_refusal(int rc);
/* any: Returns whether the call has certainly not been carried out and may be made again: missing
 * or refused credentials, too many calls, or a call that was not sent. */
bool processor_is_not_done(int rc, const struct processor_reply *reply);

/* any: Returns "<head>/<id><tail>" with the id escaped, because an id from a path parameter may
 * hold anything. Arena-owned. */
struct str processor_path(struct arena *arena, const char *head, struct str id, const char *tail);
/* any: Returns the key of a call, "gw:<project>:<what>:<id>:<salt>". The salt is hashed when the
 * key is too long or does not fit a header. Arena-owned. */
struct str processor_key(struct arena *arena,
                         const struct project *project,
                         const char *what,
                         int64_t id,
                         struct str salt);
/* Begins the salt of a request that has no idempotency key: the client cannot repeat such a
 * request, so a charge that the processor does not have must not be made later. */
#define PROCESSOR_ONCE "once-"
/* any: Returns whether a key has such a salt. */
bool processor_key_is_once(struct str key);
