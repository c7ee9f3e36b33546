#pragma once
/*
 * Many small requests to one host over HTTP/2 (RFC 9113), on nghttp2: a few long-lived connections
 * with many streams each. All requests that a tick of the loop puts on a connection leave in one
 * write. A response has its status, its body and the header `retry-after`.
 *
 * A request that the peer has certainly not processed (refused, above the last stream of a GOAWAY,
 * or not sent yet) is repeated on another stream. Any other request fails when its connection ends,
 * because the peer may have processed it. Loop thread.
 */
#include "fetch/fetch_message_private.h"
#include "fetch/fetch_resolve_private.h"
#include "fetch/fetch_url_private.h"
#include "loop/task.h"

/* Limits per host: connections, and concurrent streams of a connection. */
#define FETCH_H2_CONNECTIONS 5
#define FETCH_H2_STREAMS     100
/* A user-chosen host gets connections here once more than FETCH_H2_MIN_REQUESTS requests to it are
 * in flight, because these connections cost more than libcurl's. At most FETCH_H2_MAX_CHOSEN_HOSTS
 * such hosts have connections at a time. */
#define FETCH_H2_MIN_REQUESTS     8
#define FETCH_H2_MAX_CHOSEN_HOSTS 16

struct fetch_h2_conn;
struct fetch_h2_host;

/* A request and its response. The caller fills the members up to `answer` and zeroes the others. */
struct fetch_exchange {
    struct fetch_h2_host *host;              /* from fetch_h2_host_acquire() */
    const struct fetch_request *request;     /* passed fetch_message_check() */
    const struct fetch_url *url;             /* `target` is set */
    const struct fetch_addresses *addresses; /* unused when the host is an IP address */
    struct fetch_answer *answer;
    bool no_h2; /* result: the peer does not support HTTP/2, nothing was sent */

    struct await await;
    struct list link;           /* in the host's `waiting`, or in the connection's `exchanges` */
    struct fetch_h2_conn *conn; /* NULL while waiting for a stream */
    int32_t stream;
    size_t body_sent;
    unsigned refusal_count;
    bool is_sent;  /* the headers were sent: the peer may have processed the request */
    bool is_final; /* the current headers are the final response's: not interim, no trailers */
};

/* loop: Starts the module, for fetch_init(). */
void fetch_h2_init(const char *ca_file);
/* loop: Stops the module, for fetch_done(). Running exchanges end with FETCH_UNREACHABLE. */
void fetch_h2_done(void);

/* loop: Counts one more request to the host, no matter which library will carry it; call
 * fetch_h2_host_release() when the request has ended. `chosen`: a user chose the host, not the
 * operator. Returns NULL when too many user-chosen hosts are in use, or after fetch_h2_done(). */
struct fetch_h2_host *fetch_h2_host_acquire(const struct fetch_url *url, bool chosen);
void fetch_h2_host_release(struct fetch_h2_host *host);
/* loop: Returns whether requests to the host should use nghttp2 instead of libcurl. */
bool fetch_h2_is_worthwhile(const struct fetch_h2_host *host);

/* co: Sends the request and waits for its response. Returns 0 with the response or with `no_h2`,
 * FETCH_UNREACHABLE, FETCH_REFUSED, FETCH_TOO_LARGE, -ECANCELED or -ETIMEDOUT. */
AWAITS int fetch_exchange_run(struct task *task, struct fetch_exchange *exchange, int64_t limit_ms)
    MUSTCHECK;

/* --- called by a connection (fetch_h2.c) --- */

/* loop: Assigns waiting exchanges to free streams, and dials more connections if needed. */
void fetch_h2_host_dispatch(struct fetch_h2_host *host);
/* loop: The peer has not processed the exchange: queues it again, before the host's other waiting
 * exchanges. */
void fetch_exchange_requeue(struct fetch_exchange *exchange);
/* loop: The connection is gone. `rc`: why it could not be established, else 0. `fruitless`: the
 * connection never delivered a response, although requests were sent or the peer sent GOAWAY. */
void fetch_h2_host_on_conn_end(struct fetch_h2_host *host, int rc, bool fruitless);
/* loop: The peer does not support HTTP/2: remembers this, ends waiting exchanges with `no_h2`. */
void fetch_h2_host_on_unsupported(struct fetch_h2_host *host);
