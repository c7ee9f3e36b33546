#pragma once
/*
 * AES-128-GCM (NIST SP 800-38D) of one message under a key that is used for nothing else, as
 * content encodings have it (RFC 8188). Secrets that are stored go through aead.h. Any thread.
 */
#include <stdint.h>

#include "base/str.h"

#define GCM128_KEY_BYTES   16
#define GCM128_NONCE_BYTES 12
#define GCM128_TAG_BYTES   16

/* Writes the ciphertext of `count` parts, one behind the other, and the tag: as many bytes as the
 * parts have together and GCM128_TAG_BYTES more. Returns how many. No part overlaps `ret`. */
size_t gcm128_seal(const uint8_t key[GCM128_KEY_BYTES],
                   const uint8_t nonce[GCM128_NONCE_BYTES],
                   const struct str *parts,
                   size_t count,
                   uint8_t *ret);
