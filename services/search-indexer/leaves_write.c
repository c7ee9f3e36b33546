/* Leaves on their way into the table: arrays of keys, and one text with the bytes of all leaves. */
#include "leaves_write.h"

#include <string.h>

#include "base/panic.h"
#include "batch_sql.h"

static void leaf_writes_reset(struct leaf_writes *writes)
{
    struct arena *arena = writes->arena;

    writes->put.count = writes->set.count = writes->drop.count = 0;
    writes->len = 0;
    writes->put.terms = ARENA_ARRAY(arena, writes->put.terms, LEAF_WRITES);
    writes->put.fields = ARENA_ARRAY(arena, writes->put.fields, LEAF_WRITES);
    writes->put.bases = ARENA_ARRAY(arena, writes->put.bases, LEAF_WRITES);
    writes->put.ns = ARENA_ARRAY(arena, writes->put.ns, LEAF_WRITES);
    writes->put.ats = ARENA_ARRAY(arena, writes->put.ats, LEAF_WRITES);
    writes->put.lens = ARENA_ARRAY(arena, writes->put.lens, LEAF_WRITES);
    writes->set.ctids = ARENA_ARRAY(arena, writes->set.ctids, LEAF_WRITES);
    writes->set.ns = ARENA_ARRAY(arena, writes->set.ns, LEAF_WRITES);
    writes->set.ats = ARENA_ARRAY(arena, writes->set.ats, LEAF_WRITES);
    writes->set.lens = ARENA_ARRAY(arena, writes->set.lens, LEAF_WRITES);
    writes->drop.terms = ARENA_ARRAY(arena, writes->drop.terms, LEAF_WRITES);
    writes->drop.fields = ARENA_ARRAY(arena, writes->drop.fields, LEAF_WRITES);
    writes->drop.bases = ARENA_ARRAY(arena, writes->drop.bases, LEAF_WRITES);
    writes->data = arena_alloc(arena, LEAF_WRITES_BYTES);
}

void leaf_writes_init(struct leaf_writes *writes, struct arena *arena, int64_t idx)
{
    *writes = (struct leaf_writes){.arena = arena, .idx = idx};
    leaf_writes_reset(writes);
}

bool leaf_writes_full(const struct leaf_writes *writes)
{
    return writes->put.count + writes->set.count == LEAF_WRITES ||
           writes->drop.count == LEAF_WRITES;
}

/* Copies the leaf's bytes. Returns where they begin, counted from 1. */
static int64_t leaf_writes_copy_bytes(struct leaf_writes *writes, const struct leaf *leaf)
{
    size_t at = writes->len;

    MUST(writes->put.count + writes->set.count < LEAF_WRITES && leaf->docs.len <= LEAF_BYTES);
    memcpy(writes->data + at, leaf->docs.ptr, leaf->docs.len);
    writes->len += leaf->docs.len;
    return (int64_t)at + 1;
}

void leaf_writes_put(struct leaf_writes *writes, struct leaf_key key, const struct leaf *leaf)
{
    int64_t bytes = leaf_writes_copy_bytes(writes, leaf);
    size_t at = writes->put.count++;

    writes->put.terms[at] = key.term;
    writes->put.fields[at] = key.field;
    writes->put.bases[at] = leaf->base;
    writes->put.ns[at] = leaf->n;
    writes->put.ats[at] = bytes;
    writes->put.lens[at] = (int64_t)leaf->docs.len;
}

void leaf_writes_set(struct leaf_writes *writes, struct str place, const struct leaf *leaf)
{
    int64_t bytes = leaf_writes_copy_bytes(writes, leaf);
    size_t at = writes->set.count++;

    writes->set.ctids[at] = place;
    writes->set.ns[at] = leaf->n;
    writes->set.ats[at] = bytes;
    writes->set.lens[at] = (int64_t)leaf->docs.len;
}

void leaf_writes_drop(struct leaf_writes *writes, struct leaf_key key, int64_t base)
{
    size_t at = writes->drop.count++;

    MUST(at < LEAF_WRITES);
    writes->drop.terms[at] = key.term;
    writes->drop.fields[at] = key.field;
    writes->drop.bases[at] = base;
}

static struct db_call writes_put_call(const struct leaf_writes *writes)
{
    const size_t count = writes->put.count;
    const struct str data = {writes->data, writes->len};

    return writes->is_rebuild
               ? db_call_new(writes->arena,
                             SQL_LEAVES_ADD(.idx = writes->idx,
                                            .terms = sql_i64s(writes->put.terms, count),
                                            .fields = sql_i64s(writes->put.fields, count),
                                            .bases = sql_i64s(writes->put.bases, count),
                                            .ns = sql_i64s(writes->put.ns, count),
                                            .ats = sql_i64s(writes->put.ats, count),
                                            .lens = sql_i64s(writes->put.lens, count),
                                            .data = data))
               : db_call_new(writes->arena,
                             SQL_LEAVES_PUT(.idx = writes->idx,
                                            .terms = sql_i64s(writes->put.terms, count),
                                            .fields = sql_i64s(writes->put.fields, count),
                                            .bases = sql_i64s(writes->put.bases, count),
                                            .ns = sql_i64s(writes->put.ns, count),
                                            .ats = sql_i64s(writes->put.ats, count),
                                            .lens = sql_i64s(writes->put.lens, count),
                                            .data = data));
}

static struct db_call writes_set_call(const struct leaf_writes *writes)
{
    const size_t count = writes->set.count;

    return db_call_new(writes->arena,
                       SQL_LEAVES_SET(.places = sql_strs(writes->set.ctids, count),
                                      .ns = sql_i64s(writes->set.ns, count),
                                      .ats = sql_i64s(writes->set.ats, count),
                                      .lens = sql_i64s(writes->set.lens, count),
                                      .data = ((struct str){writes->data, writes->len})));
}

size_t leaf_writes_calls(struct leaf_writes *writes, struct db_call calls[static LEAF_CALLS])
{
    const size_t drops = writes->drop.count;
    size_t count = 0;

    if (drops > 0)
        calls[count++] = db_call_new(writes->arena,
                                     SQL_LEAVES_DROP(.idx = writes->idx,
                                                     .terms = sql_i64s(writes->drop.terms, drops),
                                                     .fields = sql_i64s(writes->drop.fields, drops),
                                                     .bases = sql_i64s(writes->drop.bases, drops)));
    if (writes->set.count > 0)
        calls[count++] = writes_set_call(writes);
    if (writes->put.count > 0)
        calls[count++] = writes_put_call(writes);
    writes->rows += drops + writes->set.count + writes->put.count;
    leaf_writes_reset(writes);
    return count;
}
