#pragma once
/*
 * Server-sent events as they arrive: whatever pieces a text comes in, its events are the same.
 * Lines end with LF, CR or both; comments, ids and names are passed over, the data of an event is
 * its lines with LF between. Any thread.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/strbuf.h"

#define EVENT_STREAM_BYTES ((size_t)256 * 1024) /* of an event */

struct event_stream {
    struct strbuf line, data;
    size_t lines;         /* of data */
    bool begun, after_cr; /* something has arrived; the last byte was CR */
};

/* any: `arena` holds what has not ended yet. */
void event_stream_init(struct event_stream *stream, struct arena *arena);
/* any: takes a piece and calls fn(data, arg) for each event that ends in it; `data` is borrowed for
 * the call. 0, ASSISTANT_BAD when an event is too long, or what fn returned if it was not 0:
 * nothing more is taken then. */
typedef int (*event_stream_fn)(struct str data, void *arg);
int event_stream_feed(struct event_stream *stream, struct str piece, event_stream_fn fn, void *arg)
    MUSTCHECK;
