#pragma once
/* A request that makes a call to the processor (payments/call.h) and is answered by what came of
 * it. */
#include "areas/payments/idempotency.h"
#include "areas/payments/pay_common.h"
#include "payments/call.h"

/* Filled by its owner but for .call's own members; `call.path` and `call.form` before
 * pay_call_note(). */
struct pay_call {
    struct call call;
    struct req *r;
    struct idem *idem;
    int status; /* of the answer when it goes well */
    /* co: in the last transaction (r->scope->db), which may be run more than once: the answer of a
     * call that is done or refused into the response. 0, or a result that is no status. */
    int (*answer)(struct pay_call *pay); /* AWAITS */
    /* any: members beside those that the problem of an unknown outcome has; NULL = none. */
    void (*unknown)(struct pay_call *pay);
};

/* any: a call of this request about row `id` of `kind`. */
struct call pay_call_of(struct req *r,
                        const struct call_kind *kind,
                        const struct payment_settings *settings,
                        int64_t id);
/* co: in the open transaction (r->scope->db): notes the call (call_note()) in its row, and the row
 * in idem; commits. `what` as of processor_key(). */
AWAITS int pay_call_note(struct pay_call *pay, const char *what) MUSTCHECK;
/* co: makes the call and answers: what came of it is recorded, the call closed and the answer kept
 * in one transaction. The answer of an unknown outcome (503) names the row in Location, as does a
 * 201. */
AWAITS int pay_call_run(struct pay_call *pay) MUSTCHECK;
/* co: goes on with a call that an abandoned request noted and that is still open. */
AWAITS int pay_call_repeat(struct pay_call *pay, struct str key, struct str path, struct str form)
    MUSTCHECK;
