#pragma once
/*
 * Certificate chains inside JWS headers (RFC 7515 section 4.1.6), as the app store signs: exactly
 * three certificates, leaf and intermediate verified up to a pinned root (the third entry is
 * ignored) by X509_verify_cert(3), both with their marker extensions, P-256 leaf. Verified chains
 * are remembered for 15 minutes, at most 32. Loop thread only.
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

/* From PEM text with 1 to 16 certificates of authorities. 0 with an owned set, or X5C_BAD. */
int x5c_anchors_from_pem(struct str pem, struct x5c_anchors **ret_anchors) MUSTCHECK;
/* The store's own root, built in. Owned by the caller. */
struct x5c_anchors *x5c_anchors_default(void);
void x5c_anchors_free(struct x5c_anchors *anchors); /* NULL is fine */
/* SHA-256 of a root's certificate, false when there is no such index: for the test that compares
 * the one built in with the fingerprint that the store publishes. */
bool x5c_anchor_sha256(const struct x5c_anchors *anchors,
                       size_t index,
                       uint8_t ret[X5C_SHA256_BYTES]);

/* `header` is the JWS header; `at_ms` wall clock. 0 with the leaf's key, borrowed until the next
 * call; X5C_BAD; X5C_UNTRUSTED; X5C_NO_MARKER: the leaf lacks 1.2.840.113635.100.6.11.1 or the
 * intermediate 1.2.840.113635.100.6.2.1; X5C_EXPIRED (60 s skew). */
int x5c_verify(struct arena *arena,
               const struct x5c_anchors *anchors,
               const json_t *header,
               int64_t at_ms,
               const struct ec_key **ret_key) MUSTCHECK;
