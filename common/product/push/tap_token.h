#pragma once
/*
 * data.notification_id: names a send and proves that we sent it, so that a tap can be reported
 * without other credentials. Bound to the project (its key), the send, its category and one hour.
 * The same send gives the same token whenever it is signed again with the same key. Pure; any
 * thread.
 *
 * base64url of: version (1 byte, 1), key id (4, big-endian), send (8), end of life in seconds since
 * 1970 (8), then 16 bytes of HMAC-SHA-256 over all of that, the project and the category. 50
 * characters.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"
#include "crypto/aead.h"

#define TAP_TOKEN_S     3600
#define TAP_TOKEN_BYTES 50 /* of text */

/* What a token is bound to. */
struct tap {
    int64_t project;
    struct str category; /* without one a token names its send and is worth nothing */
    int64_t send;        /* looked up by the token: tap_token_verify() does not read it */
};

/* Arena-owned. `key` is the project's data key (the token's key is derived from it), `sent_ms` the
 * wall clock at which the send began. */
struct str tap_token_sign(struct arena *arena,
                          const struct aead_key *key,
                          const struct tap *tap,
                          int64_t sent_ms);

/* `keys`: the project's data keys, retired ones too; `claim`: the project that was asked and the
 * category that is told. What a token says is looked at only after its signature, which is compared
 * in constant time. 0 with the send, or TAP_TOKEN_BAD or TAP_TOKEN_EXPIRED; clients see one answer
 * for both.
 */
int tap_token_verify(struct arena *arena,
                     const struct aead_key *keys,
                     size_t nkeys,
                     const struct tap *claim,
                     struct str token,
                     int64_t now_ms,
                     int64_t *ret_send) MUSTCHECK;

/* Which data key it says that it was signed with: nothing is verified. False when it is no token.
 */
bool tap_token_key_id(struct arena *arena, struct str token, uint32_t *ret_id);
