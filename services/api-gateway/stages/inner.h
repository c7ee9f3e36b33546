#pragma once
/*
 * Requests without a connection: they run a route as a given caller would, and return its answer to
 * the code that needs it. Loop thread.
 */
#include "app.h"

struct inner_req {
    struct project *project;     /* held */
    const struct caller *caller; /* with its current rights */
    enum http_method method;
    struct str path;  /* whole path of a route, encoded: "/org/demo/search" */
    struct str query; /* encoded */
    /* AWAITS: answers the request once its route is found: inner_handle(), or only a part of its
     * work */
    int (*answer)(struct req *r);
};

struct inner_answer {
    int status;
    const char *code; /* code of the problem; NULL: the answer is not a problem */
    struct str body;  /* owned by the arena of inner_run()'s task */
};

/* any: Call it once at the start of a process. Inner requests have the limits of `server`. */
void inner_start(struct http_server *server);
/* co: Checks the caller's rights and rate limits, then runs the handler. */
AWAITS int inner_handle(struct req *r);
/* co: Runs an inner request and fills `ret`. An answer that is a stream, or has more than `most`
 * bytes, becomes the problem too_large_answer. Returns 0 or a negative. */
AWAITS int
inner_run(struct task *task, const struct inner_req *inner, size_t most, struct inner_answer *ret)
    MUSTCHECK;
