#pragma once
/*
 * Who sends, for web push services (VAPID, RFC 8292): a token per origin, signed with the project's
 * key pair, valid for 12 hours and used again until an hour before its end. Subscriptions are made
 * for the public key: another key pair ends them all, another subject does not.
 *
 * Life: new, any number of headers, free. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct ec_key;
struct vapid;

#define VAPID_TOKEN_S     43200
#define VAPID_RENEW_S     3600
#define VAPID_ORIGINS_MAX 64
#define VAPID_SUBJECT_MAX 512

/* Whether push services take it: "mailto:" and an email address, or an https address, at a name of
 * the public DNS in printable ASCII. Apple's service refuses "localhost" and names without a dot.
 */
bool vapid_subject_ok(struct arena *arena, struct str subject);
/* base64url of the public point, what browsers call applicationServerKey; arena-owned. */
struct str vapid_public_key(struct arena *arena, const struct ec_key *key);

/* Borrows the key, which must have a private part and live longer; copies the subject,
 * VAPID_SUBJECT_MAX bytes at most. Returns owned. */
struct vapid *vapid_new(const struct ec_key *key, struct str subject);
/* NULL is fine. */
void vapid_free(struct vapid *vapid);

/* The value of the header Authorization for an origin (webpush_origin()), arena-owned. At most
 * VAPID_ORIGINS_MAX are kept; then the longest unused one makes way, for origins are user input.
 * `now_ms`: wall clock. */
struct str
vapid_header(struct vapid *vapid, struct arena *arena, struct str origin, int64_t now_ms);
