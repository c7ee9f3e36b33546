#pragma once
/*
 * Signed links: whoever has one reads the file until its end, without other credentials. Bound to
 * the project (its key), the file and that end. Pure; any thread.
 *
 * base64url of: version (1 byte, 1), key id (4, big-endian), end in seconds since 1970 (8), then 16
 * bytes of HMAC-SHA-256 over all of that, the project and the file. 39 characters.
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

/* Arena-owned. `key` is the project's data key: the link's key is derived from it. */
struct str file_link_sign(struct arena *arena,
                          const struct aead_key *key,
                          const struct file_link *link,
                          int64_t end_s);
/* 0, FILE_LINK_BAD or FILE_LINK_EXPIRED. `keys`: the project's data keys, retired ones too. What
 * the token says is looked at only after its signature, which is compared in constant time. */
int file_link_verify(struct arena *arena,
                     const struct aead_key *keys,
                     size_t nkeys,
                     const struct file_link *link,
                     struct str token,
                     int64_t now_ms,
                     int64_t *ret_end_s) MUSTCHECK;
