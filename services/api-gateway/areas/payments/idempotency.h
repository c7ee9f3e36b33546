#pragma once
/*
 * Requests that move money, carried out once for each key of the caller:
 *
 *   TRY(idem_begin(r, in.idempotency_key, &idem));      answered before, refused, or ours
 *   return idem_end(r, &idem, create(r, &in, &idem));   keeps the answer when it is a final one
 *
 * and inside, after what can be refused without the processor (pay_call.h):
 *
 *   sql_begin(), the local row, pay_call_note()
 *   pay_call_run()
 *
 * Killed anywhere between, the caller goes on with his key (idem.target names the row), else the
 * payments service's timer does.
 */
#include "app.h"

/* Member of a body's schema, for a struct with a member `idempotency_key`. */
/* clang-format off */
#define IDEM_MEMBER(body)                                                                          \
    {.name = "idempotency_key", FIELD_AT(body, idempotency_key), .type = FIELD_STR,                \
     .nullable = true, .max = 255,                                                                 \
     .doc = "As the header Idempotency-Key: a repeated request is carried out once"}
/* clang-format on */

struct idem {
    struct str key; /* empty: the caller gave none, and all of these do nothing */
    struct str principal;
    struct str target; /* taken over: the local row that the first request made ("payment:12"), else
                          empty */
    int64_t token;
    struct str salt; /* for the processor's key: the same for everyone who repeats the request;
                        without a key random (PROCESSOR_ONCE) */
    bool ended;      /* kept or released */
};
/* co: header Idempotency-Key, else `body_key` (the member "idempotency_key"). Done before: its
 * answer again, with Idempotent-Replayed: true (a non-zero status is returned); another body 422;
 * still running 409; abandoned: taken over, .target says how far it came. Comes before anything
 * that depends on the state of things. */
AWAITS int idem_begin(struct req *r, const struct in_str *body_key, struct idem *ret_idem)
    MUSTCHECK;
/* co: in the open transaction (r->scope->db) that makes the local row: notes it. 409 when another
 * request has taken over: the transaction must not be committed. */
AWAITS int idem_note(struct req *r, const struct idem *idem, const char *kind, int64_t id)
    MUSTCHECK;
/* co: in the open transaction that ends the work: keeps `status` and what is in r->body as the
 * answer. */
AWAITS int idem_keep(struct req *r, struct idem *idem, int status) MUSTCHECK;
/* co: the outcome is unknown or the processor was away: the next request with this key goes on at
 * once. `forget`: there is no local row (any more), it begins anew. Joins an open transaction. */
AWAITS void idem_release(struct req *r, struct idem *idem, bool forget);
/* co: the end of every handler with a key; `rc` is what the work returned, and is returned. What
 * idem_keep() has not kept: final answers (2xx, 400, 402, 404, 409 payment_state) are kept now, the
 * others release the key. */
AWAITS int idem_end(struct req *r, struct idem *idem, int rc) MUSTCHECK;
