#pragma once
/*
 * A browser's push subscription (W3C Push API, PushSubscriptionJSON), which is the device token of
 * provider `web_push`: {"endpoint", "keys": {"p256dh", "auth"}}. A user sent it: nothing in it is
 * trusted. Pure; any thread.
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
    struct str origin;   /* of the endpoint: "https://push.example", the audience of VAPID tokens */
    bool secure;         /* true for https; http only where the operator allows the host */
    uint8_t point[EC_POINT_BYTES]; /* p256dh, on the curve */
    uint8_t auth[WEBPUSH_AUTH_BYTES];
};

/* Reads a subscription. Its keys may be base64 or base64url, padded or not, as browsers and
 * libraries have sent them. 0, all arena-owned, or WEBPUSH_BAD_JSON, _ENDPOINT, _POINT or _AUTH.
 * fetch() checks later whether requests to the endpoint's host are allowed. */
int webpush_subscription_read(struct arena *arena,
                              struct str json,
                              struct webpush_subscription *ret_subscription) MUSTCHECK;

/* Finds the origin of an http(s) URL (RFC 6454 section 6.2): scheme and host in lower case, and the
 * port unless it is the default port of the scheme; arena-owned. 0 or WEBPUSH_BAD_ENDPOINT. */
int webpush_origin(struct arena *arena, struct str url, struct str *ret_origin) MUSTCHECK;
