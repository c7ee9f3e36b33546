#pragma once
/* Requests that make a call to the processor (payments/call.h) and answer with its outcome. */
#include "areas/payments/idempotency.h"
#include "areas/payments/pay_common.h"
#include "payments/call.h"

/* Filled by its owner, except for the members of .call that call.h sets. `call.path` and
 * `call.form` must be set before pay_call_note(). */
struct pay_call {
    struct call call;
    struct req *r;
    struct idem *idem;
    int status; /* of the answer after a success */
    /* co: Writes the answer of a call that is done or refused into the response, in the last
     * transaction (r->scope->db), which may run more than once. Returns 0; any other result rolls
     * the transaction back. */
    int (*write_answer)(struct pay_call *pay); /* AWAITS */
    /* any: Adds members to the problem for an unknown outcome; NULL = none. */
    void (*extend_unknown)(struct pay_call *pay);
};

/* any: Returns a call of this request about row `id` of `kind`. */
struct call pay_call_begin(struct req *r,
                           const struct call_kind *kind,
                           const struct payment_settings *settings,
                           int64_t id);
/* co: In the open transaction (r->scope->db): notes the call in its row (call_note()), stores the
 * row as the target of pay->idem, and commits. `what` is the part of the call's key
 * (processor_key()) that names the action, for example "charge". */
AWAITS int pay_call_note(struct pay_call *pay, const char *what) MUSTCHECK;
/* co: Makes the noted call and answers. One transaction records the outcome, closes the call and
 * stores the answer. When the outcome is unknown it answers 503; Location names the row then, and
 * with 201. Returns the status, or a negative. */
AWAITS int pay_call_run(struct pay_call *pay) MUSTCHECK;
/* co: Repeats the open call that an abandoned request noted with this key, path and form, and
 * answers. Returns the same as pay_call_run(). */
AWAITS int pay_call_repeat(struct pay_call *pay, struct str key, struct str path, struct str form)
    MUSTCHECK;
