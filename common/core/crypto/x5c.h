#pragma once
/*
 * Certificate chains in JWS headers (RFC 7515 section 4.1.6), as the app store sends them: exactly
 * three certificates. X509_verify_cert(3) verifies leaf and intermediate up to a pinned root; the
 * third entry is ignored. Leaf and intermediate have marker extensions, and the leaf has a P-256
 * key. At most 32 verified chains are cached, for 15 minutes. Loop thread only.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct ec_key;
struct x5c_anchors;

#define X5C_SHA256_BYTES 32

/* Reads 1 to 16 certificates of authorities from PEM. Returns 0 with a set, owned by the caller, or
 * X5C_BAD. */
int x5c_anchors_from_pem(struct str pem, struct x5c_anchors **ret_anchors) MUSTCHECK;
/* Returns a set with the store's own root, which is built in; owned by the caller. */
struct x5c_anchors *x5c_anchors_default(void);
/* Frees a set; NULL is allowed. */
void x5c_anchors_free(struct x5c_anchors *anchors);
/* Computes the SHA-256 hash of a root's certificate. Returns false when there is no such index. For
 * the test that compares the built-in root with the fingerprint that the store publishes. */
bool x5c_anchor_sha256(const struct x5c_anchors *anchors,
                       size_t index,
                       uint8_t ret[X5C_SHA256_BYTES]);

/* Verifies the chain in a JWS header at the wall-clock time `at_ms`. Returns 0 with the leaf's key,
 * borrowed until the next call; X5C_BAD; X5C_UNTRUSTED; X5C_NO_MARKER (the leaf
 * lacks 1.2.840.113635.100.6.11.1 or the intermediate 1.2.840.113635.100.6.2.1); or X5C_EXPIRED (60
 * s of clock skew are allowed). */
int x5c_verify(struct arena *arena,
               const struct x5c_anchors *anchors,
               const json_t *header,
               int64_t at_ms,
               const struct ec_key **ret_key) MUSTCHECK;
