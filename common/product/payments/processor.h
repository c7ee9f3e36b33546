#pragma once
/*
 * Calls to the payment processor (Stripe REST v1): form encoded, with the project's key, its
 * connected account, a pinned version and, on POST, an idempotency key. Whoever moves money records
 * the call (path, form, key) in its row first, so that an unknown outcome is settled by repeating
 * it.
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

/* All borrowed until the call returns. */
struct processor_request {
    const char
        *method;     /* "GET", "POST", "DELETE"; the form of GET and DELETE goes into the query */
    struct str path; /* "/v1/payment_intents/pi_1/confirm": ids from processor_path() */
    struct str form;
    struct str key;   /* POST: required, at most 255 characters */
    bool platform;    /* without the account header: accounts and account links */
    int64_t limit_ms; /* of all attempts together; 0 = until a second before the task's deadline */
};

/* Owned by the task's arena. */
struct processor_reply {
    long status;
    const json_t *body; /* NULL when there is none that can be read */
    struct str type, code, decline_code, message, param;
    const json_t *intent;  /* error.payment_intent, NULL when absent */
    struct str request_id; /* of the processor: for logs */
    bool replayed; /* what it answered to this key before, which is all that it will ever answer */
    bool not_done; /* every attempt was turned away before anything was done (401, 403, 429) or not
                      sent at all: nothing will come of this call unless it is made again */
};

struct processor_config {
    struct str base_url; /* https://api.stripe.com */
    int64_t timeout_ms;  /* of one attempt */
    unsigned retries;    /* 2 */
};
/* loop: once, after fetch_init(); copies. */
void processor_init(const struct processor_config *config);

/* co: with retries as the processor asks for (Stripe-Should-Retry, else 409, 429, 5xx, lost
 * connections; 0.5 s doubling to 5 s, times 0.5..1), same key, never beyond the task's deadline. 0,
 * with .body an object; PROCESSOR_DECLINED with .code, .decline_code, .message, .intent;
 * PROCESSOR_INVALID with .param, .message; another PROCESSOR_*, or a negative. */
AWAITS int processor_call(struct task *task,
                          const struct payment_settings *settings,
                          const struct processor_request *request,
                          struct processor_reply *ret_reply) MUSTCHECK;

/* any: of a result of processor_call(): a refusal that the same call will always get: declined,
 * invalid, not found. */
bool processor_refused(int rc);
/* any: the call has certainly not been carried out and may be made anew: no or refused credentials,
 * too many calls. */
bool processor_not_done(int rc, const struct processor_reply *reply);

/* "<head>/<id><tail>", the id escaped (one from a path parameter is anything); arena-owned. */
struct str processor_path(struct arena *arena, const char *head, struct str id, const char *tail);
/* Key of a call, "gw:<project>:<what>:<id>:<salt>" cut by hashing when too long; arena-owned. */
struct str processor_key(struct arena *arena,
                         const struct project *project,
                         const char *what,
                         int64_t id,
                         struct str salt);
/* What a salt begins with when the request that makes the call has no idempotency key: nobody can
 * repeat that request, so a charge that the processor does not have must not be made later. */
#define PROCESSOR_ONCE "once-"
/* Whether a key has such a salt. */
bool processor_key_once(struct str key);
