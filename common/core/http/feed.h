#pragma once
/*
 * Feeds: responses without an end, written to by whoever has something to say (server-sent events).
 * The handler begins one and returns; request, coroutine and arena end with it, and what is left is
 * the connection and the owner's struct http_feed. What is sent to many is one piece, shared.
 *
 * A feed ends when its client goes, when its owner closes it, when the client reads too slowly
 * (http_limits.body_min_rate while something waits for it), or when its share of the server's
 * unsent bytes is full: then closed(arg) is called, once, maybe before the call returns that found
 * it out. Loop thread only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/req.h"
#include "loop/shares.h"

/* Bytes for any number of feeds, reference counted. */
struct http_piece {
    unsigned refs;
    bool headed; /* each feed's own head goes before it */
    size_t len;
    char data[];
};
/* any: a copy with one reference. */
struct http_piece *http_piece_new(struct str text);
/* any: the same, for behind the head of each feed; nothing has none. */
struct http_piece *http_piece_headed(struct str text);
struct http_piece *http_piece_ref(struct http_piece *piece);
/* any: accepts NULL. */
void http_piece_unref(struct http_piece *piece);

/* Embedded in its owner, who keeps it until closed() was called. */
struct http_feed {
    struct http_conn *conn; /* NULL = it has ended */
    void (*closed)(void *arg);
    void *arg;
    struct str head;          /* what only this one is sent, before headed pieces; its owner's */
    struct share_owner owner; /* of the bytes that wait for its client */
    size_t queued_max;        /* of them; beyond it the feed ends */
};

/* any: in a handler, as the last thing that it does: sends the head (200, `content_type`, until the
 * connection closes) and takes the connection over; the handler then returns 200. False when the
 * client has gone: nothing was begun. */
bool http_feed_begin(struct req *req, struct str content_type, struct http_feed *feed);
/* any: a client that has closed its side still gets what it has asked for (half-close), unless that
 * takes long enough for the handler to ask here: has it closed, or gone? */
bool http_client_left(const struct req *req);
/* any: sends a piece, or ends the feed. */
void http_feed_send(struct http_feed *feed, struct http_piece *piece);
/* any: the same of several, in one call of the kernel's while it takes them; FEED_PIECES at most.
 */
#define FEED_PIECES 16
void http_feed_send_all(struct http_feed *feed, struct http_piece *const *pieces, size_t count);
/* any: ends it behind what was sent; closed() is not called. Idempotent. */
void http_feed_close(struct http_feed *feed);
