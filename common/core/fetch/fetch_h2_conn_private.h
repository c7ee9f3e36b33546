#pragma once
/* An HTTP/2 connection with its socket, TLS state and session. Loop thread only. */
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>

#include "fetch/fetch_h2_private.h"
#include "fetch/fetch_tls_private.h"

enum fetch_h2_state {
    H2_CONNECTING,
    H2_HANDSHAKE,
    H2_SETTINGS_WAIT, /* waiting for the peer's SETTINGS, which limit the streams */
    H2_OPEN,
    H2_LEAVING, /* no new streams */
    H2_CLOSED,  /* freed at once, or by the queued flush hook */
};

struct fetch_h2_watch;

struct fetch_h2_conn {
    struct fetch_h2_host *host;
    struct list link;      /* in the host's list */
    struct list exchanges; /* struct fetch_exchange with a stream */
    enum fetch_h2_state state;
    nghttp2_session *session;
    bool has_sent_request, has_response; /* a request was ever sent, a response ever received */
    unsigned streams;                    /* open streams, including those of cancelled exchanges */
    int64_t busy_ms;                     /* mono: when `streams` last rose from 0 */
    int64_t received_ms;                 /* mono: when data last arrived */
    int64_t ping_ms;                     /* mono: when the unanswered PING was sent; 0 = none */
    /* the socket */
    int fd; /* -1 = none */
    struct fetch_h2_watch *watch;
    int watched_events;
    struct loop_timer timer;
    struct loop_hook flush;
    bool is_write_pending;  /* the last SSL_write() must be repeated with the same bytes */
    bool is_flush_deferred; /* the hook was queued a second time (conn_on_flush()) */
    struct fetch_tls tls;
    /* the address */
    bool is_address, any_address;
    bool address_public; /* the current address is public */
    bool address_refused;
    int64_t open_deadline_ms;  /* mono: deadline for reaching H2_OPEN */
    struct str addresses_left; /* addresses still to try, in `addresses` or `name` */
    long port;
    char name[FETCH_HOST_BYTES];
    struct fetch_addresses addresses;
    /* output: up to one TLS record in `out`, and the rest of nghttp2's current frame */
    const uint8_t *frame;
    size_t frame_bytes, out_bytes;
    uint8_t out[FETCH_TLS_RECORD_BYTES];
};

/* loop: Opens a connection to the exchange's host and appends it to `list`. Returns NULL when no
 * address could be dialled, with the reason in *ret_rc. */
struct fetch_h2_conn *fetch_h2_conn_new(struct fetch_h2_host *host,
                                        struct list *list,
                                        const struct fetch_exchange *exchange,
                                        int *ret_rc);
/* loop: Ends the exchanges with FETCH_UNREACHABLE and frees the connection. Does not notify the
 * host. */
void fetch_h2_conn_free(struct fetch_h2_conn *conn);
/* loop: Returns whether the connection is still being established. */
bool fetch_h2_conn_is_opening(const struct fetch_h2_conn *conn);
/* loop: Returns whether the connection can take one more stream. `any_address`: the request may go
 * to a private address. */
bool fetch_h2_conn_has_free_stream(struct fetch_h2_conn *conn, bool any_address);
/* loop: Sends the request at the end of the tick. fetch_h2_conn_has_free_stream() must have been
 * true. */
void fetch_h2_conn_send(struct fetch_h2_conn *conn, struct fetch_exchange *exchange);
/* loop: Resets the stream of a cancelled exchange and detaches the exchange. */
void fetch_exchange_cancel(struct fetch_exchange *exchange);
/* loop: Sends the session's pending frames at the end of the tick. */
void fetch_h2_conn_flush(struct fetch_h2_conn *conn);
