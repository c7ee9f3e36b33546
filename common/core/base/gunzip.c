/* gzip and deflate by zlib. */
#include <limits.h>
#include <stdint.h>
#define ZLIB_CONST /* input is not changed */
#include <zlib.h>

#include "base/gunzip.h"
#include "base/panic.h"
#include "base/result.h"

#define GZIP_ALONE (16 + MAX_WBITS) /* neither zlib's own format nor a bare stream */
#define STEP_BYTES 16384U           /* of input: empty members and blocks make nothing of it */
#define GZIP_MAGIC 0x1f             /* the first byte of a member */
#define ZLIB_LOW   0x08             /* the low half of the first byte of zlib's own format */

struct gunzip {
    z_stream stream;
    bool inside; /* of a member */
    bool whole;
    bool deflate; /* not gzip */
    bool begun;
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

/* Of which format a `deflate` is, by its first byte: as a bare stream, 8 in its low half would be a
 * stored block with padding that no packer writes, and the magic of gzip is none at all. */
static void deflate_begin(struct gunzip *gunzip, struct str input)
{
    unsigned char first = (unsigned char)input.ptr[0];
    int bits = -MAX_WBITS;

    if (first == GZIP_MAGIC)
        bits = GZIP_ALONE;
    else if ((first & 0x0f) == ZLIB_LOW)
        bits = MAX_WBITS;
    gunzip->begun = true;
    MUST(inflateReset2(&gunzip->stream, bits) == Z_OK);
}

bool gunzip_some(struct gunzip *gunzip, struct str *input, char *out, size_t room, size_t *ret_made)
{
    z_stream *stream = &gunzip->stream;
    size_t ahead;
    int rc = Z_OK;

    MUST(room > 0 && room < INT_MAX);
    if (gunzip->deflate && gunzip->whole)
        *input = STR_NONE;
    if (gunzip->deflate && !gunzip->begun && input->len > 0)
        deflate_begin(gunzip, *input);
    ahead = input->len < STEP_BYTES ? input->len : STEP_BYTES;
    stream->next_out = (Bytef *)out;
    stream->avail_out = (uInt)room;
    /* Without input too: zlib may hold bytes that had no room before. */
    while (stream->avail_out > 0 && (ahead > 0 || gunzip->inside) && rc != Z_BUF_ERROR) {
        stream->next_in = (const Bytef *)input->ptr;
        stream->avail_in = (uInt)ahead;
        rc = inflate(stream, Z_NO_FLUSH);
        input->ptr += ahead - stream->avail_in;
        input->len -= ahead - stream->avail_in;
        ahead = stream->avail_in;
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            return false;
        gunzip->inside = rc != Z_STREAM_END;
        gunzip->whole = !gunzip->inside;
        if (gunzip->whole && gunzip->deflate)
            break;
        if (gunzip->whole && inflateReset(stream) != Z_OK)
            return false;
    }
    *ret_made = room - stream->avail_out;
    return true;
}

bool gunzip_is_whole(const struct gunzip *gunzip)
{
    return gunzip->whole;
}
