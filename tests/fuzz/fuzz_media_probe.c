/* Headers of images and recordings: any bytes, in chunks of any size, truncated anywhere. The last
 * byte is the chunk size of the source. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/panic.h"
#include "media/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOOKS_MAX 200000 /* of at least 4 KB; a file of a few KB needs few reads */

struct bytes {
    const uint8_t *data;
    size_t size, most, looks;
};

static int64_t give(void *arg, int64_t offset, uint8_t *into, size_t bytes)
{
    struct bytes *source = arg;

    MUST(offset >= 0 && bytes > 0 && bytes <= SOURCE_WINDOW_BYTES && source->looks++ < LOOKS_MAX);
    if ((uint64_t)offset >= source->size)
        return 0;
    size_t rest = source->size - (size_t)offset;
    bytes = bytes < rest ? bytes : rest;
    bytes = bytes < source->most ? bytes : source->most;
    memcpy(into, source->data + offset, bytes);
    return (int64_t)bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct media_source source;
    struct bytes bytes = {.data = data, .size = size};

    bytes.most = size > 0 && data[size - 1] < 4 ? 32U << data[size - 1] : SIZE_MAX;
    source.size = (int64_t)size;
    source.arg = &bytes;
    source.read = give;
    source.window_at = 0;
    source.window_bytes = 0;
    struct media_facts facts = media_probe(&source);
    MUST((facts.width == 0) == (facts.height == 0));
    MUST(facts.orientation >= 1 && facts.orientation <= 8);
    MUST(isfinite(facts.duration) && facts.duration >= 0);
    return 0;
}
