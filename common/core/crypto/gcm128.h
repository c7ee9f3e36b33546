#pragma once
/*
 * AES-128-GCM (NIST SP 800-38D) for one message under a key that is used for nothing else, as in
 * encrypted content encodings (RFC 8188). Use aead.h for stored secrets. Any thread.
 */
#include <stdint.h>

#include "base/str.h"

#define GCM128_KEY_BYTES   16
#define GCM128_NONCE_BYTES 12
#define GCM128_TAG_BYTES   16

/* Encrypts the concatenation of `count` parts. Writes the ciphertext and the tag to `ret`, which
 * has room for the length of all parts and GCM128_TAG_BYTES more. Returns the number of bytes
 * written. No part overlaps `ret`. */
size_t gcm128_seal(const uint8_t key[GCM128_KEY_BYTES],
                   const uint8_t nonce[GCM128_NONCE_BYTES],
                   const struct str *parts,
                   size_t count,
                   uint8_t *ret);
