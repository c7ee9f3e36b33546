#pragma once
/*
 * Requests without a connection: what a model asks for is answered by the route's own handler, as
 * the caller would be answered who asked for it: rights, limits, refusals. Loop thread.
 */
#include "app.h"

struct ai_inner {
    struct project *project;     /* held */
    const struct caller *caller; /* with the rights of now */
    const char *path;            /* below {base_url}, of a GET route */
    struct str query;            /* encoded */
};
/* co: *ret_status and the body, arena-owned, of at most `most` bytes: of a larger one the answer is
 * too_large_answer. 0, or a negative. */
AWAITS int ai_inner_get(struct task *task,
                        const struct ai_inner *inner,
                        size_t most,
                        int *ret_status,
                        struct str *ret_body) MUSTCHECK;
