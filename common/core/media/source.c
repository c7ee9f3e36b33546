/* The window of a media source. */
#include "media/source.h"

#include <string.h>

/* Smallest read. Small enough that a parser that jumps through a large file does not read it all.
 */
#define READ_MIN_BYTES 4096U

/* The window starts at the requested offset, because parsers move forward. */
static void source_fill(struct media_source *source, int64_t offset, size_t bytes)
{
    if (bytes < READ_MIN_BYTES)
        bytes = READ_MIN_BYTES;
    source->window_at = offset;
    source->window_bytes = 0;
    while (source->window_bytes < bytes) {
        int64_t got = source->read(source->arg,
                                   offset + (int64_t)source->window_bytes,
                                   source->window + source->window_bytes,
                                   bytes - source->window_bytes);
        if (got <= 0)
            return;
        source->window_bytes += (size_t)got;
    }
}

static size_t source_available(const struct media_source *source, int64_t offset)
{
    int64_t end = source->window_at + (int64_t)source->window_bytes;

    return offset >= source->window_at && offset < end ? (size_t)(end - offset) : 0;
}

size_t source_read_partial(struct media_source *source,
                           int64_t offset,
                           size_t bytes,
                           const uint8_t **ret_bytes)
{
    if (offset < 0 || offset >= source->size || bytes > SOURCE_WINDOW_BYTES)
        return 0;
    if ((int64_t)bytes > source->size - offset)
        bytes = (size_t)(source->size - offset);
    if (source_available(source, offset) < bytes)
        source_fill(source, offset, bytes);
    if (source_available(source, offset) < bytes)
        bytes = source_available(source, offset);
    *ret_bytes = source->window + (bytes > 0 ? offset - source->window_at : 0);
    return bytes;
}

const uint8_t *source_at(struct media_source *source, int64_t offset, size_t bytes)
{
    const uint8_t *at = NULL;

    return bytes > 0 && source_read_partial(source, offset, bytes, &at) == bytes ? at : NULL;
}
