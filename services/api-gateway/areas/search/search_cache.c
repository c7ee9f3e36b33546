/* Cache of the projects' live indexes and search settings. */
#include "areas/search/search_cache.h"

enum {
    SLOTS = 1024, /* a power of two */
    SLOT_BYTES = 8 * 1024,
    KNOWN_BYTES = 1024 * 1024 /* of all slots */
};

struct slot {
    struct arena *arena; /* NULL = free */
    size_t bytes;
    int64_t project;
    struct search_cached cached;
};

static struct slot slots[SLOTS];
static size_t held;
static size_t hand; /* next slot to evict when all slots together are too large */

static struct slot *known_slot(int64_t project)
{
    return &slots[(size_t)project & (SLOTS - 1)];
}

static void slot_empty(struct slot *slot)
{
    arena_free(slot->arena);
    held -= slot->bytes;
    *slot = (struct slot){0};
}

static struct str copy_text(struct arena *arena, struct str text)
{
    return text.ptr != NULL ? arena_dup(arena, text) : text;
}

static void
copy_known(struct arena *arena, const struct search_cached *from, struct search_cached *to)
{
    *to = (struct search_cached){
        .version = copy_text(arena, from->version),
        .doc = copy_text(arena, from->doc),
        .indexes = ARENA_ARRAY(arena, to->indexes, from->count + 1),
        .count = from->count,
    };
    for (size_t i = 0; i < from->count; i++) {
        const struct sql_i64s *ids = &from->indexes[i].field_ids;
        int64_t *items = ARENA_ARRAY(arena, items, ids->count + 1);
        for (size_t k = 0; k < ids->count; k++)
            items[k] = ids->items[k];
        to->indexes[i] = from->indexes[i];
        to->indexes[i].field_ids = sql_i64s(items, ids->count);
    }
}

static size_t known_bytes(const struct search_cached *known)
{
    size_t bytes = known->version.len + known->doc.len + sizeof(struct search_index);

    for (size_t i = 0; i < known->count; i++)
        bytes +=
            sizeof(struct search_index) + (known->indexes[i].field_ids.count + 1) * sizeof(int64_t);
    return bytes + (known->count + 4) * 16; /* rounding of the arena */
}

bool search_cache_get(struct arena *arena, int64_t project, struct search_cached *ret_known)
{
    const struct slot *slot = known_slot(project);

    if (slot->arena == NULL || slot->project != project)
        return false;
    copy_known(arena, &slot->cached, ret_known);
    return true;
}

void search_cache_put(int64_t project, const struct search_cached *known)
{
    struct slot *slot = known_slot(project);
    size_t bytes = known_bytes(known);

    slot_empty(slot);
    if (bytes > SLOT_BYTES)
        return;
    while (held + bytes > KNOWN_BYTES)
        slot_empty(&slots[hand++ & (SLOTS - 1)]);
    *slot = (struct slot){.arena = arena_new(bytes), .bytes = bytes, .project = project};
    copy_known(slot->arena, known, &slot->cached);
    held += bytes;
}

void search_cache_drop(int64_t project)
{
    struct slot *slot = known_slot(project);

    if (slot->arena != NULL && slot->project == project)
        slot_empty(slot);
}
