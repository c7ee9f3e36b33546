#pragma once
/* One connection of HTTP/2: socket, TLS, session. Loop thread. */
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>

#include "fetch/fetch_h2_private.h"
#include "fetch/fetch_tls_private.h"

enum fetch_h2_state {
    H2_CONNECTING,
    H2_HANDSHAKE,
    H2_GREETING, /* until the peer's SETTINGS, which tell how many streams it takes */
    H2_OPEN,
    H2_LEAVING, /* no new streams */
    H2_CLOSED,  /* freed at the turn's end */
};

struct fetch_h2_watch;

struct fetch_h2_conn {
    struct fetch_h2_host *host;
    struct list link;      /* of the host */
    struct list exchanges; /* that have a stream */
    enum fetch_h2_state state;
    nghttp2_session *session;
    bool asked, answered; /* something, ever */
    unsigned streams;     /* open, with those that nobody waits for any more */
    int64_t busy_ms;      /* mono: since when there are some */
    int64_t heard_ms;     /* mono: when something last arrived */
    int64_t ping_ms;      /* mono: of the ping that has no answer yet; 0: none */
    /* the socket */
    int fd; /* -1: none */
    struct fetch_h2_watch *watch;
    int watched;
    struct loop_timer timer;
    struct loop_hook flush;
    bool written_half; /* OpenSSL wants the same bytes again */
    bool settled;      /* the turn's coroutines have run: what they ask is there */
    struct fetch_tls tls;
    /* the address */
    bool is_address, any_address;
    bool address_public; /* of the one that is dialled */
    bool address_refused;
    int64_t until_ms; /* mono: it stands by then */
    struct str left;  /* addresses to try, in `addresses` */
    long port;
    char name[FETCH_HOST_BYTES];
    struct fetch_addresses addresses;
    /* what leaves: a record's worth, after it the rest of a frame of nghttp2's */
    const uint8_t *frame;
    size_t frame_bytes, out_bytes;
    uint8_t out[FETCH_TLS_RECORD_BYTES];
};

/* loop: dials the exchange's host for the `host`, whose list has it then; NULL when there is not
 * even a try, with *ret_rc why. */
struct fetch_h2_conn *fetch_h2_conn_new(struct fetch_h2_host *host,
                                        struct list *list,
                                        const struct fetch_exchange *exchange,
                                        int *ret_rc);
/* loop: with FETCH_UNREACHABLE for its exchanges; the host hears nothing. */
void fetch_h2_conn_free(struct fetch_h2_conn *conn);
/* loop: is it on its way to stand? */
bool fetch_h2_conn_begins(const struct fetch_h2_conn *conn);
/* loop: for one stream more, of somebody who may speak with its address. */
bool fetch_h2_conn_has_room(struct fetch_h2_conn *conn, bool any_address);
/* loop: after the above; it leaves at the turn's end. */
void fetch_h2_conn_send(struct fetch_h2_conn *conn, struct fetch_exchange *exchange);
/* loop: nobody waits for it any more. */
void fetch_h2_conn_forget(struct fetch_exchange *exchange);
/* loop: what the session wants to say leaves at the turn's end. */
void fetch_h2_conn_flush(struct fetch_h2_conn *conn);
