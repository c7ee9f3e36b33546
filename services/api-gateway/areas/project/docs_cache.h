#pragma once
/*
 * Bodies of the documents of GET /docs, kept as text. That of the platform is made once a process,
 * that of a data model once for each model version and field rule: callers who may know the same
 * fields share it. They are made in slices that let others run, one at a time, and sent without
 * being copied. What is kept, and what is being sent, is bounded in bytes by `shares`
 * (common/README.md): the bodies that nobody has asked for longest make room; when all are being
 * sent, the next waits for none and is refused.
 */
#include "app.h"

/* A body, a JSON object. Immutable, shared, reference counted. */
struct docs_text {
    struct str *pieces;
    size_t count;
    size_t bytes;      /* of all pieces */
    uint64_t print[2]; /* of the text, for ETags */
};

/* co: the body of the caller's data model document, held until the request ends; 0, or the status
 * of an answer. */
AWAITS int docs_text_model(struct req *r, const struct docs_text **ret_text) MUSTCHECK;
/* co: that of the platform document. */
AWAITS int docs_text_platform(struct req *r, const struct docs_text **ret_text) MUSTCHECK;
/* any: at the process's end. */
void docs_text_forget(void);
