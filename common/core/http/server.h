#pragma once
/*
 * HTTP/1.1 server on the event loop. Strict framing (RFC 9112): an ambiguous request gets 400, and
 * its connection closes. Keep-alive; pipelined requests are answered in order, one at a time per
 * connection.
 */
#include <stddef.h>
#include <stdint.h>

#include "catalog/problem.h"
#include "http/req.h"
#include "loop/shares.h"

struct http_limits {
    size_t header_bytes;   /* 32 KB for request line and headers; above: 431 (414 for the target) */
    size_t target_bytes;   /* 16 KB; above: 414 */
    unsigned header_count; /* 100; above: 431 */
    size_t json_body_bytes; /* 1 MB; the default limit that handlers apply to JSON bodies */
    int64_t header_time_ms; /* 10 s from the first byte (408 and close) */
    int64_t idle_ms;        /* 60 s between requests */
    uint64_t body_min_rate; /* 1 KB a second, averaged over 5 s; also for readers of responses */
    unsigned requests_max; /* 4,096 in flight; above: 503 at once. A request whose handler waits for
                              the whole body is not in flight. */
    unsigned connections_max; /* 20,000; above: accepting pauses. One address gets at most half */
    unsigned bodies_per_address; /* 256 that handlers wait for; above: 503 */
    uint64_t body_bytes; /* 32 MB of incomplete bodies, at least the largest body that a handler
                            reads as a whole. Addresses take turns; above: bodies are not read, and
                            after http_body_wait_ms() their requests get 503. */
};
extern const struct http_limits http_limits_default;

struct http_config {
    const char *host;
    int port;         /* 0 = any free, see http_server_port */
    int listen_fd;    /* from http_listen(), taken over; 0 = the server opens one itself */
    bool show_shares; /* /metrics shows the server's limits */
    struct http_limits limits;
    /* Limit of response bytes that clients have not read, by project; borrowed. Above: streams and
     * large responses to GET become 503, other responses end their connection if the socket does
     * not take them at once. NULL = no limit. */
    struct shares *unsent;
    int64_t request_timeout_ms; /* deadline of a request's task, usually 30 s */
    size_t scope_bytes;         /* size of req.scope */
    /* co: Handles every request. Writes a response with a status, or returns a negative (sent as
     * 500, -ETIMEDOUT as 504). */
    int (*handle)(struct req *req); /* AWAITS */
    /* any: Returns whether this address is a proxy that is trusted to name its clients. NULL = no
     * proxy is trusted. */
    bool (*is_proxy)(const char *peer);
    /* any: Called after the response was handed to the socket (access log, metrics); must not wait.
     * Called once for every request whose head was received or refused. The status is 499 when the
     * client left without a response. */
    void (*finished)(struct req *req);
    /* any: Writes the body of an error that the HTTP layer itself raises (400, 408, 414, 417, 431,
     * 500, 501, 503, 504, 505), and the headers that its status requires. Codes are those of
     * catalog/problem.h. */
    void (*problem)(struct req *req, int status, enum problem problem, const char *detail);
};

struct http_stats {
    uint64_t connections_accepted, connections_open, requests_in_flight, parse_errors, bytes_in,
        bytes_out;
};

/* any: Returns the owner of shares for an address: an IPv4 address, or an IPv6 network of 64 bits.
 * `text` as in req.peer. */
struct share_owner http_address_owner(const char *text);

/* any: Starts a server that listens, in *ret_server; http_server_stop() frees it. Blocks while it
 * resolves `host`, unless listen_fd is set. Returns 0, or a negative errno when the address cannot
 * be used. */
int http_server_start(const struct http_config *config, struct http_server **ret_server) MUSTCHECK;
/* any: Opens a listening socket with SO_REUSEPORT; blocks while it resolves `host`. Returns the
 * socket or a negative errno. The supervisor opens one per worker before it forks, so that clients
 * wait for the next worker when a worker dies. */
int http_listen(const char *host, int port) MUSTCHECK;
/* any: Returns the port of a listening socket; 0 on failure. */
int http_listen_port(int fd);
/* any: Checks that the address can be listened on and no other process uses it; blocks while it
 * resolves `host`. Returns 0 or a negative errno. For the start of a daemon whose workers share a
 * port: SO_REUSEPORT would join another process's port. */
int http_address_check(const char *host, int port) MUSTCHECK;
/* any: Returns how many of the `wanted` connections fit into the limit of open files in addition to
 * `others` files, but not less than half of this limit. Raises the soft limit as far as needed and
 * allowed. http_server_port() returns the port of a server. */
unsigned http_connections_limit(unsigned wanted, unsigned others);
int http_server_port(const struct http_server *server);
/* any: Returns the limits of the server's configuration; borrowed. */
const struct http_limits *http_server_limits(const struct http_server *server);
/* any: Returns for how many milliseconds a request waits until other bodies leave room for its own:
 * a third of request_timeout_ms. http_server_stats() returns the counters; borrowed. */
int64_t http_body_wait_ms(const struct http_server *server);
const struct http_stats *http_server_stats(const struct http_server *server);
/* any: Stops accepting, closes idle connections and feeds, and answers running requests with
 * Connection: close. Calls done(arg) when no connection is left, or after `limit_ms`. */
void http_server_drain(struct http_server *server, int64_t limit_ms, loop_fn done, void *arg);
/* any: Closes all connections and frees the server once its handles are closed. */
void http_server_stop(struct http_server *server);
