#pragma once
/*
 * Decompression, a few kilobytes at a time: a sequence of gzip members (RFC 1952), or HTTP's
 * deflate (RFC 9110, section 8.4.1.2).
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct gunzip; /* with some 40 KB that zlib allocates */

/* Returns a decoder for gzip. The arena owns it and frees zlib's memory as well. */
struct gunzip *gunzip_new(struct arena *arena);
/* Returns a decoder for `deflate`, owned by the arena as from gunzip_new(). The decoder accepts
 * zlib's format (RFC 1950) and the formats that some servers send under this name: a raw stream
 * (RFC 1951), or gzip. Input after the end of the stream is dropped. */
struct gunzip *gunzip_new_deflate(struct arena *arena);
/* any: Decompresses the front of *input into `out` and cuts the consumed bytes off *input. A call
 * consumes at most 16 KB and writes at most `capacity` bytes (above 0), so it takes a fraction of a
 * millisecond. *ret_made receives the number of bytes written; 0 with *input empty means that the
 * decoder needs more input. Returns false when the input does not have the decoder's format. */
bool gunzip_step(struct gunzip *gunzip,
                 struct str *input,
                 char *out,
                 size_t capacity,
                 size_t *ret_made) MUSTCHECK;
/* any: Returns whether the input consumed so far ends with a complete member or stream. */
bool gunzip_is_complete(const struct gunzip *gunzip);
