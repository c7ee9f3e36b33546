#pragma once
/*
 * data.notification_id: a token that names a send and proves that we sent it, so that a client can
 * report a tap without other credentials. A token is bound to the project (its key), the send, its
 * category and one hour. Signed again with the same key, the same send has the same token. Pure;
 * any thread.
 *
 * base64url of: version (1 byte, 1), key id (4, big-endian), send (8), expiry in seconds since 1970
 * (8), then 16 bytes of HMAC-SHA-256 over all of that, the project and the category. 50 characters.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"
#include "crypto/aead.h"

#define TAP_TOKEN_S     3600
#define TAP_TOKEN_BYTES 50 /* of base64url text */

/* The values that a token is bound to. */
struct tap {
    int64_t project;
    struct str category; /* tap_token_verify() accepts no token of an empty category */
    int64_t send;        /* tap_token_verify() ignores it and returns the send of the token */
};

/* Returns a token; arena-owned. `key` is the project's data key, from which the token's key is
 * derived; `sent_ms` is the wall clock at which the send began. */
struct str tap_token_sign(struct arena *arena,
                          const struct aead_key *key,
                          const struct tap *tap,
                          int64_t sent_ms);

/* Verifies a token. `keys`: the project's data keys, also retired keys. `claim`: the project of the
 * request and the category that the client reports. Expiry and send are read only after the HMAC,
 * which is compared in constant time. 0 with the send, or TAP_TOKEN_BAD or TAP_TOKEN_EXPIRED;
 * clients get the same answer for both. */
int tap_token_verify(struct arena *arena,
                     const struct aead_key *keys,
                     size_t nkeys,
                     const struct tap *claim,
                     struct str token,
                     int64_t now_ms,
                     int64_t *ret_send) MUSTCHECK;

/* Reads the id of the data key that a token claims to be signed with, and verifies nothing. Returns
 * false for a text that is no token. */
bool tap_token_key_id(struct arena *arena, struct str token, uint32_t *ret_id);
