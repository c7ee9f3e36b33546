#pragma once
/*
 * Identifies the sender to web push services (VAPID, RFC 8292): one token for each origin, signed
 * with the project's key pair, valid for 12 hours and reused until an hour before it expires.
 * Subscriptions are bound to the public key: a new key pair ends all of them, a new subject does
 * not.
 *
 * Life: vapid_new(), any number of vapid_header(), vapid_free(). One thread.
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

/* Returns true for a subject that push services accept: "mailto:" and an email address, or an https
 * URL, with a name of the public DNS, in printable ASCII. Apple's service refuses "localhost" and
 * names without a dot. */
bool vapid_subject_ok(struct arena *arena, struct str subject);
/* Returns base64url of the public point, which browsers call applicationServerKey; arena-owned. */
struct str vapid_public_key(struct arena *arena, const struct ec_key *key);

/* Borrows the key, which must have a private part and outlive the result. Copies the subject, which
 * has at most VAPID_SUBJECT_MAX bytes. Returns owned (vapid_free()). */
struct vapid *vapid_new(const struct ec_key *key, struct str subject);
/* Frees `vapid`; NULL is allowed. */
void vapid_free(struct vapid *vapid);

/* Returns the value of the header Authorization for an origin (webpush_origin()); arena-owned. At
 * most VAPID_ORIGINS_MAX tokens are cached, because origins are user input; beyond that the least
 * recently used token is dropped. `now_ms`: wall clock. */
struct str
vapid_header(struct vapid *vapid, struct arena *arena, struct str origin, int64_t now_ms);
