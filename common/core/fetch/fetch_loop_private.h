#pragma once
/*
 * libcurl's multi interface on the process's event loop. Manages sockets, timers and transfers, and
 * knows nothing about the requests. Loop thread.
 */
#include <curl/curl.h>

#include "base/list.h"
#include "base/result.h"
#include "loop/task.h"

/* Embedded in its owner, which creates and frees the easy handle. */
struct fetch_transfer {
    struct await await;
    struct list link;
    CURL *easy;
    CURLcode code;             /* result of the transfer */
    long max_host_connections; /* above 0: one of many transfers to one host, which has at most this
                               many connections */
    bool is_stream;            /* a fetch_stream, whose connections have a pool of their own */
    void (*on_end)(struct fetch_transfer *transfer); /* only for fetch_loop_start() */
};

/* fetch_loop_init() starts the module. `roots`: PEM file of trusted root certificates, NULL = the
 * system's; borrowed until fetch_loop_done(). fetch_loop_ca_file() returns `roots`. */
void fetch_loop_init(const char *roots);
const char *fetch_loop_ca_file(void);
/* Closes pooled connections, and ends running transfers with CURLE_COULDNT_CONNECT. */
void fetch_loop_done(void);

/* co: Runs the transfer and waits for its end. Returns 0 with `code` set, -ECANCELED or -ETIMEDOUT;
 * in each case libcurl no longer uses the easy handle. */
AWAITS int fetch_loop_run(struct task *task, struct fetch_transfer *transfer) MUSTCHECK;
/* any: Begins a transfer, which ends with a call of on_end() on the loop thread. When on_end() is
 * called, libcurl no longer uses the easy handle. */
void fetch_loop_start(struct fetch_transfer *transfer);
/* any: Aborts a transfer that has not ended; on_end() is not called. */
void fetch_loop_stop(struct fetch_transfer *transfer);
