#pragma once
/*
 * Feeds: responses without an end, such as server-sent events, which any code on the loop can write
 * to. A handler begins a feed and returns. Its request, coroutine and arena end then; the
 * connection and the owner's struct http_feed remain. A chunk that is sent to many feeds is shared.
 *
 * A feed ends when its client disconnects, when its owner closes it, when the client reads too
 * slowly (http_limits.body_min_rate while bytes are queued), or when too many bytes are queued for
 * it. on_closed(arg) is then called once (not after http_feed_close()), possibly while the call
 * that detects the end is still running. Loop thread only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/req.h"
#include "loop/shares.h"

/* A chunk of bytes for any number of feeds, reference counted. */
struct http_chunk {
    unsigned refs;
    bool has_head; /* each feed's own `head` is sent before it */
    size_t len;
    char data[];
};
/* any: Returns a chunk with a copy of the text and one reference. */
struct http_chunk *http_chunk_new(struct str text);
/* any: Like http_chunk_new(), but each feed sends its `head` before the chunk, unless the chunk is
 * empty. http_chunk_ref() adds a reference and returns the chunk. */
struct http_chunk *http_chunk_new_headed(struct str text);
struct http_chunk *http_chunk_ref(struct http_chunk *chunk);
/* any: Drops a reference, and frees the chunk with its last reference. Accepts NULL. */
void http_chunk_unref(struct http_chunk *chunk);

/* Embedded in its owner, which keeps it until on_closed() was called or http_feed_close()
 * returned. */
struct http_feed {
    struct http_conn *conn; /* NULL = the feed has ended */
    void (*on_closed)(void *arg);
    void *arg;
    struct str head;          /* sent before each headed chunk, to this feed only; borrowed */
    struct share_owner owner; /* of the bytes queued for the client */
    size_t queued_max;        /* bytes queued at most; above it the feed ends */
};

/* any: Begins a feed, as the last action of a handler, which then returns 200. Sends the head (200,
 * `content_type`, until the connection closes) and takes over the connection. False: the client has
 * gone, and nothing was begun. */
bool http_feed_begin(struct req *req, struct str content_type, struct http_feed *feed);
/* any: Returns whether the client has closed its side or gone. A client that closed its side still
 * gets the response (half-close); a handler that takes long can check this and stop. */
bool http_client_has_left(const struct req *req);
/* any: Sends or queues a chunk; on failure the feed ends. */
void http_feed_send(struct http_feed *feed, struct http_chunk *chunk);
#define FEED_CHUNKS 16
/* any: Like http_feed_send() for up to FEED_CHUNKS chunks, in one system call if the socket takes
 * them. */
void http_feed_send_all(struct http_feed *feed, struct http_chunk *const *chunks, size_t count);
/* any: Ends the feed once all queued bytes are written; on_closed() is not called. Idempotent. */
void http_feed_close(struct http_feed *feed);
