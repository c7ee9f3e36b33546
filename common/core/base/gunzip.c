/* gzip and deflate with zlib. */
#include "base/gunzip.h"

#include <limits.h>
#include <stdint.h>
#define ZLIB_CONST /* zlib takes const input */
#include <zlib.h>

#include "base/panic.h"
#include "base/result.h"

#define GZIP_ALONE (16 + MAX_WBITS) /* window bits of inflateInit2() that accept only gzip */
#define STEP_BYTES 16384U /* most input of a call; empty blocks make no output to bound it */
#define GZIP_MAGIC 0x1f   /* first byte of a member */
#define ZLIB_LOW   0x08   /* low half of the first byte of zlib's own format */

struct gunzip {
    z_stream stream;
    bool is_in_stream;  /* a member or stream has begun and not ended */
    bool is_complete;   /* the last member or the stream has ended */
    bool deflate;       /* HTTP's deflate, not gzip */
    bool format_chosen; /* of deflate: the format is chosen */
};

static void gunzip_on_end(void *stream)
{
    (void)inflateEnd(stream);
}

struct gunzip *gunzip_new(struct arena *arena)
{
    struct gunzip *gunzip = ARENA_NEW(arena, gunzip);

    MUST(inflateInit2(&gunzip->stream, GZIP_ALONE) == Z_OK);
    arena_defer(arena, gunzip_on_end, &gunzip->stream);
    return gunzip;
}

struct gunzip *gunzip_new_deflate(struct arena *arena)
{
    struct gunzip *gunzip = gunzip_new(arena);

    gunzip->deflate = true;
    return gunzip;
}

/* Chooses the format of a `deflate` body by its first byte. In a raw stream, a first byte with a
 * low half of 8 would begin a stored block with non-zero padding, which no encoder writes.
 * GZIP_MAGIC would be an invalid block type. */
static void deflate_begin(struct gunzip *gunzip, struct str input)
{
    unsigned char first = (unsigned char)input.ptr[0];
    int bits = -MAX_WBITS;

    if (first == GZIP_MAGIC)
        bits = GZIP_ALONE;
    else if ((first & 0x0f) == ZLIB_LOW)
        bits = MAX_WBITS;
    gunzip->format_chosen = true;
    MUST(inflateReset2(&gunzip->stream, bits) == Z_OK);
}

bool gunzip_step(
    struct gunzip *gunzip, struct str *input, char *out, size_t capacity, size_t *ret_made)
{
    z_stream *stream = &gunzip->stream;
    size_t next;
    int rc = Z_OK;

    MUST(capacity > 0 && capacity < INT_MAX);
    if (gunzip->deflate && gunzip->is_complete)
        *input = STR_NONE;
    if (gunzip->deflate && !gunzip->format_chosen && input->len > 0)
        deflate_begin(gunzip, *input);
    next = input->len < STEP_BYTES ? input->len : STEP_BYTES;
    stream->next_out = (Bytef *)out;
    stream->avail_out = (uInt)capacity;
    /* Call inflate() without input too: zlib may hold output that had no room before. */
    while (stream->avail_out > 0 && (next > 0 || gunzip->is_in_stream) && rc != Z_BUF_ERROR) {
        stream->next_in = (const Bytef *)input->ptr;
        stream->avail_in = (uInt)next;
        rc = inflate(stream, Z_NO_FLUSH);
        input->ptr += next - stream->avail_in;
        input->len -= next - stream->avail_in;
        next = stream->avail_in;
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            return false;
        gunzip->is_in_stream = rc != Z_STREAM_END;
        gunzip->is_complete = !gunzip->is_in_stream;
        if (gunzip->is_complete && gunzip->deflate)
            break;
        if (gunzip->is_complete && inflateReset(stream) != Z_OK)
            return false;
    }
    *ret_made = capacity - stream->avail_out;
    return true;
}

bool gunzip_is_complete(const struct gunzip *gunzip)
{
    return gunzip->is_complete;
}
