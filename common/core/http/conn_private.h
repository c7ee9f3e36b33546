#pragma once
/*
 * A connection, the exchange (request and response) alive on it, and the calls
 * between the files of this folder.
 *
 * A connection is in exactly one list of its server, named by its state; conn_set_state() does all
 * moves and stamps since_ms, so the lists of IDLE, HEAD and LINGER are ordered by age and the sweep
 * looks only at their heads. An idle connection owns no memory but this struct: the arena and all
 * buffers belong to the exchange, which exists from the first byte of a request until its response
 * has been written and reported. When the client goes away the two are separated: the connection
 * closes, the exchange lives on until its coroutine has unwound.
 */
#include <uv.h>

#include "base/list.h"
#include "http/parse_private.h"
#include "http/server.h"

enum http_conn_state {
    CONN_IDLE,
    CONN_HEAD,
    CONN_BUSY,
    CONN_FEED, /* of a feed whose request is over */
    CONN_LINGER,
    CONN_CLOSING,
    CONN_STATES
};

struct exchange;
struct http_feed;

/* Of a struct shares; 0 = nothing. */
struct held {
    struct share *share;
    uint64_t amount;
};

struct http_conn {
    uv_tcp_t tcp; /* first: handle->data is not needed to find the owner */
    unsigned magic;
    enum http_conn_state state;
    struct list link; /* server->conns[state] */
    int64_t since_ms; /* when it entered its state */
    struct http_server *server;
    struct exchange *exchange; /* NULL while idle, a feed's, lingering or closing */
    struct http_feed *feed;    /* its owner's, NULL = none */
    char *pending;             /* bytes that arrived too early; malloc, NULL when none */
    size_t pending_len;
    size_t pending_cap;
    uint32_t drain_left; /* of a small request body that nobody read */
    bool reading;
    bool eof;         /* the client has closed its side */
    bool discard;     /* framing is lost: whatever still arrives is dropped */
    bool finishing;   /* closes when the socket has taken what is queued */
    struct held held; /* of the server's connections */
    char peer[46];

    uint64_t out_total;     /* bytes given to the socket */
    uint64_t stall_mark;    /* of them acknowledged when the window began */
    int64_t stall_since_ms; /* 0 = nothing is queued */
};

enum exchange_phase {
    EXCHANGE_HEAD,    /* receiving the head */
    EXCHANGE_RUNNING, /* the handler's coroutine is alive */
    EXCHANGE_DONE,    /* answered, in server->done until the end of the turn */
    EXCHANGE_WRITING, /* the socket still takes the response */
};

enum exchange_wait { WAIT_NONE, WAIT_BODY_SOME, WAIT_BODY_ALL, WAIT_WRITE };

struct body_buffer {
    char *ptr; /* arena */
    size_t len;
    size_t cap;
};

struct exchange {
    struct req req; /* first */
    enum exchange_phase phase;
    struct list link; /* server->done */
    int result;       /* of the handler */
    bool counted;     /* in stats.requests_in_flight */

    struct head_scan scan;
    struct strbuf head_text;
    struct head head;

    /* Body: decoded bytes wait in buffers[filling]; the other one is what the handler looks at. */
    struct body_reader body;
    struct body_buffer buffers[2];
    unsigned filling;
    size_t buffer_limit; /* stop reading from the socket above it */
    uint64_t body_taken;
    bool body_complete;
    bool is_stalled;   /* there is no room for more of the body: the socket is not read */
    int body_error;    /* REQ_BODY_TIMEOUT, REQ_BODY_BROKEN, REQ_BODY_REFUSED */
    bool body_started; /* its first byte has come, 100 Continue is not waited for */
    /* A body that is unpacked as it is read. */
    struct gunzip *gunzip;   /* NULL = the body is handed on as it comes */
    struct str packed;       /* bytes that were read and are not unpacked yet */
    bool packed_ended;       /* the socket gives no more of them */
    char *unpacked;          /* the piece that is handed on, BODY_BUFFER_BYTES at most */
    uint64_t unpacked_bytes; /* of all pieces */
    bool continue_sent;

    /* The one thing the coroutine waits for: body bytes, or room in the socket. */
    struct await await;
    enum exchange_wait waiting;
    size_t queue_wanted; /* WAIT_WRITE ends with no more queued than this */
    int64_t wait_since_ms;
    int64_t body_waited_ms;
    uint64_t body_window_bytes;
    struct held body_held; /* of the server's bodies, while it is waited for */
    struct held body_bytes_held;

    /* Response. */
    bool keep_alive; /* decided when the head of the response is written */
    bool head_sent;
    bool chunked;
    bool stream_ended;
    bool feeds; /* it is a feed's, and ends before its response does */
    uv_write_t write;
    struct held unsent_held;
};

/* resp_stream_write() awaits while more is queued on the socket. */
#define STREAM_QUEUE_MAX 65536U
/* Body bytes that wait for a handler which reads piece by piece, or not at all. */
#define BODY_BUFFER_BYTES 65536U

#define EXCHANGE(request) CONTAINER_OF((request), struct exchange, req)

struct http_server {
    struct http_config config;
    struct http_stats stats;
    int fd;
    uv_poll_t listener;
    bool listener_open; /* its handle is not closed yet */
    bool accepting;
    bool accept_paused; /* out of descriptors, until accept_timer */
    bool draining;
    bool stopping;
    struct loop_timer accept_timer;
    struct loop_timer sweep_timer;
    struct loop_timer drain_timer;
    int64_t sweep_ms;
    struct list conns[CONN_STATES];
    struct shares connections; /* by address */
    struct shares bodies;      /* that are waited for, by address */
    struct shares body_bytes;  /* of bodies that are not here whole, by address */
    struct list done;
    struct loop_hook done_hook;
    size_t exchanges;         /* alive */
    struct arena *arenas[64]; /* ready for the next exchanges */
    size_t arena_count;
    loop_fn drained;
    void *drained_arg;
};

/* conn.c: the connection and its input. */
/* Takes the accepted descriptor. */
void conn_open(struct http_server *server, int fd, const char *peer);
/* The client is gone, or is made to: closes the socket, cancels a running exchange. Idempotent. */
void conn_lost(struct http_conn *conn);
/* The same for a client that does not read: nothing is left for it in the kernel. */
void conn_reset(struct http_conn *conn);
/* Ends the connection behind what is queued on it. */
void conn_finish(struct http_conn *conn);
/* The socket has taken something: a connection that was to be finished may be now. */
void conn_finished(struct http_conn *conn);
/* The request of a feed is over: the connection is the feed's alone. */
void conn_feeds(struct http_conn *conn);
/* After room was made in the body buffer: decodes what waits and reads on. */
void conn_resume_input(struct http_conn *conn);
/* The exchange on it has ended; goes on with the next request, or closes. */
void conn_next(struct http_conn *conn, bool keep_alive);
/* Sends now or queues a copy. */
void conn_write(struct http_conn *conn, const struct str *pieces, size_t count);
/* The same for what more follows at once: the kernel waits for it with a packet that is not full.
 */
void conn_write_head(struct http_conn *conn, struct str head);
size_t conn_queued(const struct http_conn *conn);
int conn_fd(const struct http_conn *conn);
/* conn_file.c: sends bytes of a file that are in the kernel's memory, as many as the socket takes
 * now, or queues a few when it is full. 0: something is queued already, or they have to be read. */
size_t conn_send_file(struct http_conn *conn, int fd, int64_t offset, int64_t bytes);
/* Timeouts of all connections; called a few times a second. */
void conn_sweep(struct http_server *server, int64_t now_ms);
