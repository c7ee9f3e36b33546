#pragma once
/*
 * A browser's push subscription (W3C Push API, PushSubscriptionJSON), as the device token of
 * provider `web_push` holds it: {"endpoint", "keys": {"p256dh", "auth"}}. It is what a user sent:
 * nothing of it is trusted. Pure; any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"
#include "crypto/ec.h"

#define WEBPUSH_AUTH_BYTES         16
#define WEBPUSH_ENDPOINT_MAX       2048
#define WEBPUSH_SUBSCRIPTION_BYTES 4096 /* of JSON text */

struct webpush_subscription {
    struct str endpoint; /* absolute http or https URL */
    struct str origin;   /* of the endpoint: "https://push.example", what VAPID signs for */
    bool secure;         /* https; http only where the operator allows the host */
    uint8_t point[EC_POINT_BYTES]; /* p256dh, on the curve */
    uint8_t auth[WEBPUSH_AUTH_BYTES];
};

/* Keys in base64 or base64url, padded or not, as browsers and libraries have sent them. 0, all
 * arena-owned, or WEBPUSH_BAD_JSON, _ENDPOINT, _POINT or _AUTH. Whether the endpoint's host may be
 * asked is for fetch() to say. */
int webpush_subscription_read(struct arena *arena,
                              struct str json,
                              struct webpush_subscription *ret_subscription) MUSTCHECK;

/* The origin of an http(s) URL (RFC 6454 section 6.2): scheme and host in lower case, the port
 * unless it is the scheme's own; arena-owned. 0 or WEBPUSH_BAD_ENDPOINT. */
int webpush_origin(struct arena *arena, struct str url, struct str *ret_origin) MUSTCHECK;
