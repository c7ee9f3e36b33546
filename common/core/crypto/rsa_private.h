#pragma once
/* RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 section 8.2), verification only: identity providers sign
 * with it, we never do. Any thread. */
#include <stdbool.h>

#include "base/str.h"

/* `n` and `e` are big-endian bytes (the decoded JWK members, RFC 7518 section 6.3.1). False when
 * the signature is wrong, the modulus is outside 2048..8192 bits, or the exponent is even, below 3
 * or above 32 bits. */
bool rsa_verify_rs256(struct str n, struct str e, struct str data, struct str sig);
