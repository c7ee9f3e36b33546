/* Any bytes as an envelope: the reader refuses them, or writing the envelope again gives an equal
 * one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "bus/wire_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct str text, size_t max)
{
    if (text.len > max || !utf8_valid(text) || (text.len > 0 && memchr(text.ptr, '\0', text.len)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str bytes = {(const char *)data, size};
    struct bus_entry entry;
    struct bus_entry again;

    if (wire_unpack(arena, bytes, &entry) == 0) {
        check(entry.kind, 64);
        check(entry.id, 128);
        check(entry.traceparent, 256);
        if (entry.project <= 0 || entry.row_id < 0 || entry.occurred_ms < 0)
            abort();
        const struct bus_notification notification = {
            .project = entry.project,
            .kind = arena_cstr(arena, entry.kind),
            .id = entry.id,
            .row_id = entry.row_id,
            .depth = entry.depth,
            .traceparent = entry.traceparent,
        };
        struct str packed = wire_pack(arena, BUS_JOB, &notification, entry.occurred_ms);
        if (wire_unpack(arena, packed, &again) != 0 || again.project != entry.project ||
            again.row_id != entry.row_id || again.depth != entry.depth ||
            again.occurred_ms != entry.occurred_ms || !str_eq(again.kind, entry.kind) ||
            !str_eq(again.id, entry.id) || !str_eq(again.traceparent, entry.traceparent))
            abort();
    }
    arena_free(arena);
    return 0;
}
