#pragma once
/*
 * Signed links. A client with a link may read the file until the link expires, without other
 * credentials. The signature covers the project (by its key), the file and the time of expiry. Pure
 * functions, callable from any thread.
 *
 * The token is base64url of: version (1 byte, 1), key id (4, big-endian), expiry in seconds since
 * 1970 (8, big-endian), then 16 bytes of HMAC-SHA-256 over these bytes, the project and the file.
 * Its text has 39 characters.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"
#include "crypto/aead.h"

#define FILE_LINK_BYTES 39 /* of text */

struct file_link {
    int64_t project, file;
};

/* any: Signs a link that expires at `end_s` (seconds since 1970). `key` is the project's data key,
 * from which the key of links is derived. Arena-owned. */
struct str file_link_sign(struct arena *arena,
                          const struct aead_key *key,
                          const struct file_link *link,
                          int64_t end_s);
/* any: Verifies a token for the project and file in `link`. `keys`: the project's data keys,
 * including retired ones. `now_ms`: milliseconds since 1970. Returns 0 with the expiry,
 * FILE_LINK_BAD or FILE_LINK_EXPIRED. The signature is compared in constant time, before the expiry
 * is evaluated. */
int file_link_verify(struct arena *arena,
                     const struct aead_key *keys,
                     size_t nkeys,
                     const struct file_link *link,
                     struct str token,
                     int64_t now_ms,
                     int64_t *ret_end_s) MUSTCHECK;
