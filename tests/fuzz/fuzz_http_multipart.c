/* Multipart forms: the parser finds the same parts for any chunk size. The first byte is the chunk
 * size. */
#include <stdint.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "http/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
    struct str rest;
    size_t step;
};

static int source_read(void *arg, uint64_t max_total_bytes, struct str *ret_piece)
{
    struct source *source = arg;
    size_t len = source->step < source->rest.len ? source->step : source->rest.len;

    (void)max_total_bytes;
    *ret_piece = (struct str){source->rest.ptr, len};
    source->rest = (struct str){source->rest.ptr + len, source->rest.len - len};
    return 0;
}

/* Compares complete parts only: how much of a malformed part is emitted may differ. */
static struct str parts_of(struct arena *arena, struct str body, size_t step)
{
    struct source source = {body, step};
    struct multipart *mp;
    struct multipart_part part;
    struct strbuf out;
    struct str data;
    int rc;

    strbuf_init(&out, arena, 1 << 20);
    rc = multipart_new_from(
        arena, STR("multipart/form-data; boundary=X"), source_read, &source, 1 << 20, &mp);
    while (rc == 0 && (rc = multipart_next(mp, &part)) == 0 && part.name.ptr) {
        strbuf_str(&out, part.name);
        strbuf_char(&out, '|');
        strbuf_str(&out, part.filename);
        strbuf_char(&out, '|');
        rc = multipart_read_all(mp, 1 << 20, &data);
        if (rc == 0)
            strbuf_str(&out, data);
    }
    strbuf_printf(&out, "!%d", rc);
    return strbuf_view(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena;
    struct str body;

    if (size < 2 || size > 100000)
        return 0;
    arena = arena_new(0);
    body = (struct str){(const char *)data + 1, size - 1};
    if (!str_eq(parts_of(arena, body, body.len), parts_of(arena, body, (size_t)data[0] + 1)))
        abort();
    arena_free(arena);
    return 0;
}
