/*
 * Requests: the result must not depend on how the bytes are split. The first two bytes choose the
 * split.
 */
#include <stdint.h>
#include <stdlib.h>

#include "../unit/http_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena;
    struct reader whole, parts;
    struct str text;
    size_t split;

    if (size < 3 || size > 65536)
        return 0;
    text = (struct str){(const char *)data + 2, size - 2};
    split = (size_t)(data[0] << 8 | data[1]) % text.len;

    arena = arena_new(0);
    reader_init(&whole, arena);
    read_bytes(&whole, text);
    reader_init(&parts, arena);
    read_bytes(&parts, (struct str){text.ptr, split});
    read_bytes(&parts, (struct str){text.ptr + split, text.len - split});
    if (!str_eq(read_end(&whole), read_end(&parts)))
        abort();
    arena_free(arena);
    return 0;
}
