#pragma once
/*
 * Cache of the document bodies of GET /docs, as text. The platform's body is created once per
 * process. A data model's body is created once for each model version and set of field rights:
 * callers who may know the same fields share one body. Bodies are created one at a time, in slices
 * between which other tasks run, and sent without being copied.
 *
 * The bytes of all data model bodies, cached or still being sent, are bounded by `shares`
 * (common/README.md). To make room the cache evicts the least recently used bodies. When every body
 * is being sent, the cache does not wait: it refuses the next request.
 */
#include "app.h"

/* A document body: the text of a JSON object. Immutable, shared and reference counted. */
struct docs_body {
    struct str *chunks;
    size_t count;
    size_t bytes;            /* of all chunks */
    uint64_t fingerprint[2]; /* fingerprint of the text, for ETags */
};

/* co: Finds or creates the body of the data model document that the caller may see. The cache owns
 * the body; the request holds it until the request ends. Returns 0, the status of an answer that
 * was put (document too large, or too many documents in use), or a negative error. */
AWAITS int docs_body_model(struct req *r, const struct docs_body **ret_text) MUSTCHECK;
/* co: Finds or creates the body of the platform document, which lives until docs_cache_clear().
 * Returns 0, the status of an answer that was put (too many requests wait), or another error.
 */
AWAITS int docs_body_platform(struct req *r, const struct docs_body **ret_text) MUSTCHECK;
/* any: Frees all bodies that no request uses. Called when the process ends. */
void docs_cache_clear(void);
