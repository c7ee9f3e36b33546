#pragma once
/*
 * Cache of the bodies of GET /docs and GET /docs/client.ts, as text. The platform's body is created
 * once per process. The bodies that describe a data model are created once for each model version
 * and set of field rights: callers who may know the same fields share one body. Bodies are created
 * one at a time, in slices between which other tasks run, and sent without being copied.
 *
 * The bytes of all bodies that describe a data model, cached or still being sent, are bounded by
 * `shares` (common/README.md). To make room the cache evicts the least recently used bodies. When
 * every body is being sent, the cache does not wait: it refuses the next request.
 */
#include "app.h"

/* Bodies that describe the data model. */
enum docs_kind {
    DOCS_MODEL,  /* the data model document of GET /docs */
    DOCS_CLIENT, /* the typed client */
};

/* A body: the text of a JSON object, or of the typed client. Immutable, shared and reference
 * counted. */
struct docs_body {
    struct str *chunks;
    size_t count;
    size_t bytes;            /* of all chunks */
    uint64_t fingerprint[2]; /* fingerprint of the text, for ETags */
};

/* co: Finds or creates the body of a kind, with the part of the data model that the caller may see.
 * The cache owns the body; the request holds it until the request ends. Returns 0, the status of an
 * answer that was put (body too large, or too many bodies in use), or a negative error. */
AWAITS int docs_body_of(struct req *r, enum docs_kind kind, const struct docs_body **ret_text)
    MUSTCHECK;
/* co: Finds or creates the body of the platform document, which lives until the process ends.
 * Returns 0, the status of an answer that was put (too many requests wait), or another error.
 */
AWAITS int docs_body_platform(struct req *r, const struct docs_body **ret_text) MUSTCHECK;
