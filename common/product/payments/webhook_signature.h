#pragma once
/*
 * Stripe-Signature: t=<unix seconds>,v1=<hex HMAC-SHA-256 of "<t>.<raw body>">[,v1=...]. Constant
 * time per comparison; every pair of a v1 and an active secret is compared, whatever matched
 * before. Pure; any thread.
 */
#include "base/str.h"
#include "payments/payment_settings.h"

#define WEBHOOK_TOLERANCE_S  300
#define WEBHOOK_V1_MAX       16 /* signatures looked at; more are refused */
#define WEBHOOK_HEADER_BYTES 4096

/* `now_ms`: wall clock. 0 or a WEBHOOK_SIGNATURE_*. */
int webhook_signature_check(struct str header,
                            struct str body,
                            const struct webhook_secret *secrets,
                            size_t count,
                            int64_t now_ms) MUSTCHECK;
