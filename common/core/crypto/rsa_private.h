#pragma once
/* Verification of RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 section 8.2), with which identity
 * providers sign. rsa_key.h has our own signatures. Any thread. */
#include <stdbool.h>

#include "base/str.h"

/* Returns whether the signature of `data` is right. `n` and `e` are big-endian bytes (the decoded
 * JWK members, RFC 7518 section 6.3.1). Also false when the modulus is even or outside of 2048 to
 * 8192 bits, or the exponent is even, below 3 or above 32 bits. */
bool rsa_verify_rs256(struct str n, struct str e, struct str data, struct str sig);
