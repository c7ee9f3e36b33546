#pragma once
/*
 * Verifies the header Stripe-Signature: t=<unix seconds>,v1=<hex HMAC-SHA-256 of "<t>.<raw
 * body>">[,v1=...]. Each comparison takes constant time. Every v1 is compared with every active
 * secret, even after a match. Pure; any thread.
 */
#include "base/str.h"
#include "payments/payment_settings.h"

#define WEBHOOK_TOLERANCE_S  300
#define WEBHOOK_V1_MAX       16 /* signatures of one header; a header with more is refused */
#define WEBHOOK_HEADER_BYTES 4096

/* Returns 0 when a signature matches an active secret and its time is within WEBHOOK_TOLERANCE_S of
 * `now_ms` (wall clock), else a WEBHOOK_SIGNATURE_*. */
int webhook_signature_check(struct str header,
                            struct str body,
                            const struct webhook_secret *secrets,
                            size_t count,
                            int64_t now_ms) MUSTCHECK;
