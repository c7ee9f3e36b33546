#pragma once
/*
 * Many small requests to one host over HTTP/2 (RFC 9113), on nghttp2: few connections that are
 * kept, with many streams each. What a turn of the loop asks of a connection leaves in one write.
 * The answer has its status, `retry-after` and its body.
 *
 * A request that the peer has not looked at (refused, above the last stream of a GOAWAY, not sent
 * yet) is asked again on another stream. Any other whose connection ends has no answer: the peer
 * may have acted on it. Loop thread.
 */
#include "fetch/fetch_message_private.h"
#include "fetch/fetch_resolve_private.h"
#include "fetch/fetch_url_private.h"
#include "loop/task.h"

/* To one host. */
#define FETCH_H2_CONNECTIONS 5
#define FETCH_H2_STREAMS     100
/* A host of a user's choice has connections here as soon as so many requests to it are under way:
 * they cost more than libcurl's, and so many such hosts have some at once. */
#define FETCH_H2_CROWD   8
#define FETCH_H2_CROWDED 16

struct fetch_h2_conn;
struct fetch_h2_host;

/* One request and its answer; the caller fills the first members and zeroes the others. */
struct fetch_exchange {
    struct fetch_h2_host *host;              /* entered */
    const struct fetch_request *request;     /* checked */
    const struct fetch_url *url;             /* with its target */
    const struct fetch_addresses *addresses; /* unless the host is one */
    struct fetch_answer *answer;
    bool no_h2; /* the peer does not speak it: nothing was asked */

    struct await await;
    struct list link;           /* of the host while it waits for a stream, of its connection */
    struct fetch_h2_conn *conn; /* NULL: it waits */
    int32_t stream;
    size_t body_sent;
    unsigned refused;
    bool sent;  /* the peer may have seen it */
    bool final; /* the headers that arrive are the answer's: neither interim nor trailers */
};

/* loop: as fetch_init() and fetch_done(). */
void fetch_h2_init(const char *ca_file);
/* loop: exchanges end with FETCH_UNREACHABLE. */
void fetch_h2_done(void);

/* loop: one request more to the host, in whichever way; fetch_h2_leave() when it has ended. NULL:
 * too many others are asked. `chosen`: by a user, not by the operator. */
struct fetch_h2_host *fetch_h2_enter(const struct fetch_url *url, bool chosen);
void fetch_h2_leave(struct fetch_h2_host *host);
/* loop: are streams worth while? */
bool fetch_h2_crowded(const struct fetch_h2_host *host);

/* co: 0 with the answer or `no_h2`, FETCH_UNREACHABLE, FETCH_REFUSED, FETCH_TOO_LARGE, -ECANCELED,
 * -ETIMEDOUT. */
AWAITS int fetch_h2_run(struct task *task, struct fetch_exchange *exchange, int64_t limit_ms)
    MUSTCHECK;

/* --- what a connection tells its host (fetch_h2.c) --- */

/* loop: streams have ended, or the connection stands. */
void fetch_h2_feed(struct fetch_h2_host *host);
/* loop: the peer has not looked at it. */
void fetch_h2_again(struct fetch_exchange *exchange);
/* loop: the connection is gone. `rc` is why, when it never stood; else 0. `fruitless`: it stood,
 * was asked, and never answered. */
void fetch_h2_lost(struct fetch_h2_host *host, int rc, bool fruitless);
/* loop: the peer does not speak HTTP/2. */
void fetch_h2_not_spoken(struct fetch_h2_host *host);
