#pragma once
/*
 * libcurl's multi interface on the process's loop. Knows sockets, timers and transfers; nothing
 * about what is requested. Loop thread.
 */
#include <curl/curl.h>

#include "base/list.h"
#include "base/result.h"
#include "loop/task.h"

/* Embedded in its owner, who makes and frees the easy handle. */
struct fetch_transfer {
    struct await await;
    struct list link;
    CURL *easy;
    CURLcode code;          /* how it ended */
    long crowd_connections; /* above 0: one of many to one host, which has so many at most */
    bool streams;           /* to the operator's own server: connections of their own, too */
    void (*on_end)(struct fetch_transfer *transfer); /* of fetch_loop_start(): from the loop */
};

/* `roots`: PEM of those that are trusted, NULL = the system's; borrowed until fetch_loop_done(). */
void fetch_loop_init(const char *roots);
const char *fetch_loop_roots(void);
/* Transfers still running end with CURLE_COULDNT_CONNECT; kept connections are closed. */
void fetch_loop_done(void);

/* co: runs the transfer. 0 with `code` set, -ECANCELED or -ETIMEDOUT; in each case libcurl no
 * longer uses the easy handle when this returns. */
AWAITS int fetch_loop_run(struct task *task, struct fetch_transfer *transfer) MUSTCHECK;
/* any: begins one that ends with its on_end(), after which libcurl does not use it. */
void fetch_loop_start(struct fetch_transfer *transfer);
/* any: gives up one that has not ended; no on_end() follows. */
void fetch_loop_stop(struct fetch_transfer *transfer);
