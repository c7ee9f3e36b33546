/* Leaves on their way into the table. */
#include "leaves_write.h"

#include <string.h>

#include "base/panic.h"
#include "batch_sql.h"

void leaf_writes_init(struct leaf_writes *writes, struct arena *arena, int64_t idx)
{
    *writes = (struct leaf_writes){.arena = arena, .idx = idx};
    writes->put.terms = ARENA_ARRAY(arena, writes->put.terms, LEAF_WRITES);
    writes->put.fields = ARENA_ARRAY(arena, writes->put.fields, LEAF_WRITES);
    writes->put.bases = ARENA_ARRAY(arena, writes->put.bases, LEAF_WRITES);
    writes->put.ns = ARENA_ARRAY(arena, writes->put.ns, LEAF_WRITES);
    writes->put.ats = ARENA_ARRAY(arena, writes->put.ats, LEAF_WRITES);
    writes->put.lens = ARENA_ARRAY(arena, writes->put.lens, LEAF_WRITES);
    writes->drop.terms = ARENA_ARRAY(arena, writes->drop.terms, LEAF_WRITES);
    writes->drop.fields = ARENA_ARRAY(arena, writes->drop.fields, LEAF_WRITES);
    writes->drop.bases = ARENA_ARRAY(arena, writes->drop.bases, LEAF_WRITES);
    writes->data = arena_alloc(arena, LEAF_WRITES_BYTES);
}

bool leaf_writes_full(const struct leaf_writes *writes)
{
    return writes->put.count == LEAF_WRITES || writes->drop.count == LEAF_WRITES;
}

void leaf_writes_put(struct leaf_writes *writes, struct leaf_key key, const struct leaf *leaf)
{
    size_t at = writes->put.count++;

    MUST(at < LEAF_WRITES && leaf->docs.len <= LEAF_BYTES);
    writes->put.terms[at] = key.term;
    writes->put.fields[at] = key.field;
    writes->put.bases[at] = leaf->base;
    writes->put.ns[at] = leaf->n;
    writes->put.ats[at] = (int64_t)writes->len + 1;
    writes->put.lens[at] = (int64_t)leaf->docs.len;
    memcpy(writes->data + writes->len, leaf->docs.ptr, leaf->docs.len);
    writes->len += leaf->docs.len;
}

void leaf_writes_drop(struct leaf_writes *writes, struct leaf_key key, int64_t base)
{
    size_t at = writes->drop.count++;

    MUST(at < LEAF_WRITES);
    writes->drop.terms[at] = key.term;
    writes->drop.fields[at] = key.field;
    writes->drop.bases[at] = base;
}

size_t leaf_writes_calls(struct leaf_writes *writes, struct db_call calls[static 2])
{
    size_t puts = writes->put.count;
    size_t drops = writes->drop.count;
    size_t count = 0;

    if (drops > 0)
        calls[count++] = db_call_new(writes->arena,
                                     SQL_LEAVES_DROP(.idx = writes->idx,
                                                     .terms = sql_i64s(writes->drop.terms, drops),
                                                     .fields = sql_i64s(writes->drop.fields, drops),
                                                     .bases = sql_i64s(writes->drop.bases, drops)));
    if (puts > 0)
        calls[count++] =
            db_call_new(writes->arena,
                        SQL_LEAVES_PUT(.idx = writes->idx,
                                       .terms = sql_i64s(writes->put.terms, puts),
                                       .fields = sql_i64s(writes->put.fields, puts),
                                       .bases = sql_i64s(writes->put.bases, puts),
                                       .ns = sql_i64s(writes->put.ns, puts),
                                       .ats = sql_i64s(writes->put.ats, puts),
                                       .lens = sql_i64s(writes->put.lens, puts),
                                       .data = ((struct str){writes->data, writes->len})));
    leaf_writes_init(writes, writes->arena, writes->idx);
    return count;
}
