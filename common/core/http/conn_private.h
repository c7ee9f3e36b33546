#pragma once
/*
 * A connection, its current exchange (request and response), and the functions that the files of
 * this folder share.
 *
 * A connection is in exactly one list of its server, chosen by its state. conn_set_state() makes
 * all moves and sets since_ms, so the lists of IDLE, HEAD and LINGER are ordered by age and the
 * sweep checks only their first entries. An idle connection owns no memory but this struct: the
 * arena and all buffers belong to the exchange, which lives from the first byte of a request until
 * its response has been written and logged. When the client disconnects, the connection and its
 * exchange are separated: the connection closes, and the exchange lives until its coroutine has
 * ended.
 */
#include <uv.h>

#include "base/list.h"
#include "http/parse_private.h"
#include "http/server.h"

enum http_conn_state {
    CONN_IDLE,
    CONN_HEAD,
    CONN_BUSY,
    CONN_FEED, /* serves a feed whose request is over */
    CONN_LINGER,
    CONN_CLOSING,
    CONN_STATES
};

struct exchange;
struct http_feed;

/* An amount that is held of a struct shares; 0 = nothing. */
struct share_hold {
    struct share *share;
    uint64_t amount;
};

struct http_conn {
    uv_tcp_t tcp; /* first: conn_of() casts the handle to its connection */
    unsigned magic;
    enum http_conn_state state;
    struct list link; /* server->conns[state] */
    int64_t since_ms; /* when it entered its state, in uv_now() */
    struct http_server *server;
    struct exchange *exchange; /* NULL while idle, lingering, closing or serving a feed */
    struct http_feed *feed;    /* borrowed from its owner; NULL = none */
    char *pending;             /* input that cannot be consumed yet; malloc, NULL when none */
    size_t pending_len;
    size_t pending_cap;
    uint32_t drain_left; /* unread bytes to skip of a small request body */
    bool reading;
    bool eof;           /* the client has closed its side */
    bool is_discarding; /* drop all further input, for example because framing is lost */
    bool is_finishing;  /* close once all queued bytes are written */
    struct share_hold connection_hold; /* of server->connections */
    char peer[46];

    uint64_t out_total;     /* bytes written, including queued bytes */
    uint64_t stall_mark;    /* acknowledged bytes when the window (RATE_WINDOW_MS) began */
    int64_t stall_since_ms; /* when the window began; 0 = nothing is queued */
};

enum exchange_phase {
    EXCHANGE_HEAD,    /* receiving the head */
    EXCHANGE_RUNNING, /* the handler's coroutine is alive */
    EXCHANGE_DONE,    /* the response is ready; in server->done until the end of the tick */
    EXCHANGE_WRITING, /* the response is being written */
};

enum exchange_wait { WAIT_NONE, WAIT_BODY_CHUNK, WAIT_BODY_WHOLE, WAIT_WRITE };

struct body_buffer {
    char *ptr; /* arena */
    size_t len;
    size_t cap;
};

struct exchange {
    struct req req; /* first */
    enum exchange_phase phase;
    struct list link;  /* in server->done */
    int result;        /* of the handler */
    bool is_in_flight; /* in stats.requests_in_flight */

    struct head_scan scan;
    struct strbuf head_text;
    struct head head;

    /* The body. Decoded bytes wait in buffers[filling]; the handler uses the other buffer. */
    struct body_reader body;
    struct body_buffer buffers[2];
    unsigned filling;
    size_t buffer_limit; /* above it the socket is not read */
    uint64_t body_taken;
    bool body_complete;
    bool is_stalled;   /* the limit for bodies is reached: the socket is not read */
    int body_error;    /* REQ_BODY_TIMEOUT, REQ_BODY_MALFORMED, REQ_BODY_REFUSED */
    bool body_started; /* the first byte has arrived: the client needs no 100 Continue */
    /* For a body that is unpacked while it is read. */
    struct gunzip *gunzip;   /* NULL = the body is not unpacked */
    struct str packed_bytes; /* bytes that were read and are not unpacked yet */
    bool packed_ended;       /* no more packed bytes will come */
    char *unpacked_chunk;    /* the current unpacked chunk, at most BODY_BUFFER_BYTES */
    uint64_t unpacked_bytes; /* of all chunks */
    bool continue_sent;

    /* The single wait of the coroutine: for body bytes, or for room in the socket. */
    struct await await;
    enum exchange_wait waiting;
    size_t queue_wanted; /* WAIT_WRITE ends when at most this many bytes are queued */
    int64_t wait_since_ms;
    int64_t body_waited_ms;
    uint64_t body_window_bytes;
    struct share_hold body_held; /* of server->bodies, while the handler waits for the body */
    struct share_hold body_bytes_held;

    /* Response. */
    bool keep_alive; /* decided when the head of the response is written */
    bool head_sent;
    bool chunked;
    bool stream_ended;
    bool is_feed; /* serves a feed: the exchange ends before its response */
    uv_write_t write;
    struct share_hold unsent_held;
};

/* resp_stream_write() waits while more bytes than this are queued on the socket. */
#define STREAM_QUEUE_MAX 65536U
/* Body bytes buffered for a handler that reads in chunks, or does not read yet. */
#define BODY_BUFFER_BYTES 65536U

#define EXCHANGE(request) CONTAINER_OF((request), struct exchange, req)

struct http_server {
    struct http_config config;
    struct http_stats stats;
    int fd;
    uv_poll_t listener;
    bool listener_open; /* the listener handle is not closed yet */
    bool accepting;
    bool accept_paused; /* out of descriptors or memory, until accept_timer fires */
    bool draining;
    bool stopping;
    struct loop_timer accept_timer;
    struct loop_timer sweep_timer;
    struct loop_timer drain_timer;
    int64_t sweep_ms;
    struct list conns[CONN_STATES];
    struct shares connections; /* by address */
    struct shares bodies;      /* incomplete bodies with a waiting handler, by address */
    struct shares body_bytes;  /* bytes of incomplete bodies, by address */
    struct list done;
    struct loop_hook done_hook;
    size_t exchanges;         /* number of live exchanges */
    struct arena *arenas[64]; /* cached for the next exchanges */
    size_t arena_count;
    loop_fn drained;
    void *drained_arg;
};

/* conn.c: the connection and its input. */
/* Creates the connection of an accepted socket and takes over `fd`. */
void conn_open(struct http_server *server, int fd, const char *peer);
/* Closes the socket at once and cancels a running exchange: the client is gone, or must go.
 * Idempotent. */
void conn_abort(struct http_conn *conn);
/* Like conn_abort(), for a client that does not read: the kernel drops the unsent bytes. */
void conn_reset(struct http_conn *conn);
/* Closes the connection once all queued bytes are written. */
void conn_close_after_writes(struct http_conn *conn);
/* Queued bytes were written: closes a connection that conn_close_after_writes() waits for. */
void conn_on_written(struct http_conn *conn);
/* The request that began a feed is over: the connection now serves only the feed. */
void conn_begin_feed(struct http_conn *conn);
/* The body buffer has room again: decodes pending input and continues reading. */
void conn_resume_input(struct http_conn *conn);
/* The exchange has ended: continues with the next request, or closes. */
void conn_end_exchange(struct http_conn *conn, bool keep_alive);
/* Sends the chunks; queues a copy of the bytes that the socket does not take. */
void conn_write(struct http_conn *conn, const struct str *chunks, size_t count);
/* Like conn_write(), for a head that is followed by data at once: the kernel waits for the data
 * before it sends a packet that is not full. */
void conn_write_head(struct http_conn *conn, struct str head);
size_t conn_queued_bytes(const struct http_conn *conn);
int conn_fd(const struct http_conn *conn);
/* conn_file.c: Sends bytes of a file that are in the page cache, as many as the socket takes now,
 * or queues a few when the socket is full. Returns how many. 0: bytes are already queued, or the
 * file must be read from disk. */
size_t conn_send_file(struct http_conn *conn, int fd, int64_t offset, int64_t bytes);
/* Enforces the timeouts of all connections; called several times a second. */
void conn_sweep(struct http_server *server, int64_t now_ms);
