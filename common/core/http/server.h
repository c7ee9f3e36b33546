#pragma once
/*
 * HTTP/1.1 server on the loop. Strict framing (RFC 9112): anything ambiguous is 400 and close.
 * Keep-alive; pipelined requests are answered in order, one at a time per connection.
 */
#include <stddef.h>
#include <stdint.h>

#include "catalog/problem.h"
#include "http/req.h"
#include "loop/shares.h"

struct http_limits {
    size_t header_bytes;    /* 32 KB: start line and headers together, 431 (414 for the target) */
    size_t target_bytes;    /* 16 KB */
    unsigned header_count;  /* 100 */
    size_t json_body_bytes; /* 1 MB; what handlers read of a JSON body, for them to look at */
    int64_t header_time_ms; /* 10 s from the first byte (408 and close) */
    int64_t idle_ms;        /* 60 s between requests */
    uint64_t
        body_min_rate; /* bytes a second averaged over 5 s, 1 KB; also for readers of responses */
    unsigned requests_max; /* 4,096 in flight; above: 503 at once. One whose body is waited for as
                              a whole is not in flight. */
    unsigned
        connections_max; /* 20,000 accepted; above: accept pauses. One address has half at most. */
    unsigned bodies_per_address; /* 256 that are waited for at a time; above: 503 */
    uint64_t body_bytes; /* 32 MB of bodies that are not here whole, at least the largest that a
                            handler reads as a whole. Addresses take turns; above: they are not
                            read, and after http_room_wait_ms() 503. */
};
extern const struct http_limits http_limits_default;

struct http_config {
    const char *host;
    int port;         /* 0 = any free, see http_server_port */
    int listen_fd;    /* of http_listen(), taken over; 0 = it listens by itself */
    bool show_shares; /* its bounds are on /metrics */
    struct http_limits limits;
    /* Bytes of answers that clients have not read, by project, borrowed; where it is full 503, and
     * answers of up to 64 KB end their connection. NULL = they are not bounded. */
    struct shares *unsent;
    int64_t request_timeout_ms; /* deadline of a task, 30 s */
    size_t scope_bytes;         /* of req.scope */
    /* co: runs every request; puts a response with a status, or a negative (answered as 500;
     * -ETIMEDOUT as 504). */
    int (*handle)(struct req *req); /* AWAITS */
    /* any: is this address a proxy's that is trusted to name its clients? NULL = none is. */
    bool (*is_proxy)(const char *peer);
    /* any: after the response was handed to the socket (access log, metrics); never awaits. Once
     * for every request whose head arrived or was refused; status 499 when the client left
     * unanswered. */
    void (*finished)(struct req *req);
    /* any: writes the body for an error the HTTP layer itself raises (400, 408, 414, 417, 431, 500,
     * 501, 503, 504, 505), and the headers that its status asks for; codes are those of
     * catalog/problem.h. */
    void (*problem)(struct req *req, int status, enum problem problem, const char *detail);
};

struct http_stats {
    uint64_t connections_accepted, connections_open, requests_in_flight, parse_errors, bytes_in,
        bytes_out;
};

/* any: who shares by address: an IPv4 address, an IPv6 network of 64 bits. `text` as in req.peer.
 */
struct share_owner http_address_owner(const char *text);

/* any: binds and listens. Negative errno when the address cannot be had. Returns owned. */
int http_server_start(const struct http_config *config, struct http_server **ret_server) MUSTCHECK;
/* any, blocks: a socket that listens, with SO_REUSEPORT: one a worker, made before they fork, so
 * that clients wait for the next worker when one dies. Negative errno. */
int http_listen(const char *host, int port) MUSTCHECK;
/* The port of such a socket. */
int http_listen_port(int fd);
/* any, blocks: can this address be listened on, with nobody else there? 0 or a negative errno. For
 * the start of a daemon whose workers share a port: SO_REUSEPORT would join a stranger's. */
int http_address_check(const char *host, int port) MUSTCHECK;
/* any: how many of `wanted` connections the limit of open files leaves room for, beside `others`
 * files. Raises the soft limit as far as needed and allowed. */
unsigned http_connections_fit(unsigned wanted, unsigned others);
int http_server_port(const struct http_server *server);
/* any: of its configuration; borrowed. */
const struct http_limits *http_server_limits(const struct http_server *server);
/* any: milliseconds for which a request waits until other bodies leave room for its own: a third of
 * its time, ten seconds of 30. */
int64_t http_room_wait_ms(const struct http_server *server);
const struct http_stats *http_server_stats(const struct http_server *server);
/* any: stops accepting, closes idle connections, answers running requests with Connection: close;
 * calls done(arg) when none is left or after `limit_ms`. */
void http_server_drain(struct http_server *server, int64_t limit_ms, loop_fn done, void *arg);
/* any: closes everything and frees it when handles are closed. */
void http_server_stop(struct http_server *server);
