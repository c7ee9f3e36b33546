#pragma once
/*
 * Requests that move money, carried out once for each key of the caller:
 *
 *   TRY(idem_begin(r, in.idempotency_key, &idem));      answered before, refused, or claimed
 *   return idem_finish(r, &idem, create(r, &in, &idem));   stores the answer when it is final
 *
 * and inside of create(), after all checks that do not need the processor (pay_call.h):
 *
 *   sql_begin(), the local row, pay_call_note()
 *   pay_call_run()
 *
 * If the request is killed in between, the next request with this key continues (idem.target names
 * the row), otherwise the timer of payments-webhook does.
 */
#include "app.h"

/* Field of a body's schema, for a struct with a member `idempotency_key`. */
/* clang-format off */
#define IDEM_MEMBER(body)                                                                          \
    {.name = "idempotency_key", FIELD_AT(body, idempotency_key), .type = FIELD_STR,                \
     .nullable = true, .max = 255,                                                                 \
     .doc = "Same as the header Idempotency-Key: a repeated request is carried out once"}
/* clang-format on */

struct idem {
    struct str key; /* empty = none was given, and the functions below do nothing */
    struct str principal;
    struct str target; /* after a take-over: the local row of the first request ("payment:12"),
                          otherwise empty */
    int64_t token;
    struct str salt; /* of the processor's key: the same for all repeats of the request; random
                        without a key (PROCESSOR_ONCE) */
    bool closed;     /* the answer is stored or the key released */
};
/* co: Claims the key of the header Idempotency-Key, otherwise `body_key` (the member
 * "idempotency_key", may be NULL). Call it before any check that depends on stored state. Returns 0
 * when this request is to be carried out; *ret_idem lives in the request's arena. If an earlier
 * request was abandoned this request takes over, and .target names the row, if there is one.
 * Otherwise returns a status: the stored answer with Idempotent-Replayed: true, 422 when the
 * earlier request was a different one, 409 while the earlier request runs. */
AWAITS int idem_begin(struct req *r, const struct in_str *body_key, struct idem *ret_idem)
    MUSTCHECK;
/* co: In the open transaction (r->scope->db) that adds the local row: stores the row as the target
 * of the key. 409 when another request has taken over: the transaction must not be committed. */
AWAITS int idem_set_target(struct req *r, const struct idem *idem, const char *kind, int64_t id)
    MUSTCHECK;
/* co: In the open transaction that ends the work: stores `status` and the contents of r->body as
 * the answer. */
AWAITS int idem_store_answer(struct req *r, struct idem *idem, int status) MUSTCHECK;
/* co: Releases the key, so that the next request with it continues at once: the outcome is unknown,
 * or the processor was unavailable. `forget`: there is no local row, so the next request starts
 * again. Joins an open transaction. A failure is only logged: the key becomes free when its lease
 * ends. */
AWAITS void idem_release(struct req *r, struct idem *idem, bool forget);
/* co: Ends every handler that has called idem_begin(). Returns `rc`, the result of the work. Unless
 * idem_store_answer() has stored an answer, it stores a final one (2xx, 400, 402, 404, 409
 * payment_state); any other result releases the key. Rolls back a transaction that is still open.
 */
AWAITS int idem_finish(struct req *r, struct idem *idem, int rc) MUSTCHECK;
