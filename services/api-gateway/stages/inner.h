#pragma once
/*
 * Requests without a connection: a route is asked as a given caller would ask it, and its answer
 * stays here. Loop thread.
 */
#include "app.h"

struct inner_req {
    struct project *project;     /* held */
    const struct caller *caller; /* with the rights of now */
    enum http_method method;
    struct str path;  /* whole and encoded, of a route: "/org/demo/search" */
    struct str query; /* encoded */
    /* AWAITS: answers the request, whose route is known: inner_answer(), or less than it. */
    int (*answer)(struct req *r);
};

struct inner_answer {
    int status;
    const char *code; /* of a problem; NULL: none */
    struct str body;  /* arena-owned, of the task that asked */
};

/* any: at the start of a process: whose limits these requests have. */
void inner_serve(struct http_server *server);
/* co: what is asked in full: rights, limits, then the handler. */
AWAITS int inner_answer(struct req *r);
/* co: asks. The body has at most `most` bytes: of a larger one the answer is too_large_answer. 0,
 * or a negative. */
AWAITS int
inner_ask(struct task *task, const struct inner_req *inner, size_t most, struct inner_answer *ret)
    MUSTCHECK;
