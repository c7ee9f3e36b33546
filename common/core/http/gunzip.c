/* gzip by zlib. */
#include <limits.h>
#include <stdint.h>
#define ZLIB_CONST /* input is not changed */
#include <zlib.h>

#include "base/panic.h"
#include "base/result.h"
#include "http/gunzip_private.h"

#define GZIP_ALONE (16 + MAX_WBITS) /* neither zlib's own format nor a bare stream */
#define STEP_BYTES 16384U           /* of input: empty members and blocks make nothing of it */

struct gunzip {
    z_stream stream;
    bool inside; /* of a member */
    bool whole;
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

bool gunzip_some(struct gunzip *gunzip, struct str *input, char *out, size_t room, size_t *ret_made)
{
    z_stream *stream = &gunzip->stream;
    size_t ahead = input->len < STEP_BYTES ? input->len : STEP_BYTES;
    int rc = Z_OK;

    MUST(room > 0 && room < INT_MAX);
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
