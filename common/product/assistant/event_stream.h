#pragma once
/*
 * An incremental parser of server-sent events. The events do not depend on how the text is cut into
 * chunks. Lines end with LF, CR or CR LF. The parser reads `data` fields only and ignores comments,
 * ids and event names. The data of an event is the values of its `data` lines, joined by LF.
 * Callable from any thread.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/strbuf.h"

#define EVENT_STREAM_BYTES ((size_t)256 * 1024) /* most bytes of a line, and of an event's data */

struct event_stream {
    struct strbuf line, data;
    size_t data_lines; /* `data` lines of the current event */
    bool has_begun;    /* the first chunk has arrived */
    bool is_after_cr;  /* the last byte was CR */
};

/* any: Prepares a parser. The unfinished line and event are buffered in `arena`. */
void event_stream_init(struct event_stream *stream, struct arena *arena);
/* any: Parses a chunk and calls fn(data, arg) for each event that ends in this chunk. `data` is
 * borrowed for the call. Returns 0, ASSISTANT_BAD when a line or an event is too long, or the first
 * result of fn that is not 0. After a failure the rest of the chunk is not parsed. */
typedef int (*event_stream_fn)(struct str data, void *arg);
int event_stream_feed(struct event_stream *stream, struct str chunk, event_stream_fn fn, void *arg)
    MUSTCHECK;
