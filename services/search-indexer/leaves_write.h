#pragma once
/* Collects leaves and makes statements of them, some megabytes each. Changes (leaves_change.c),
 * builds (build.c) and repairs (verify_lists.c) write their leaves with it. */
#include "db/db.h"
#include "search/leaf.h"

/* A posting list of a generation. */
struct leaf_key {
    int64_t term;
    int64_t field;
};

struct leaf_writes {
    struct arena *arena;
    int64_t idx;
    bool is_rebuild; /* the leaves are of a rebuild: no leaf in `put` is in the table yet */
    size_t rows;     /* rows that all statements so far affect: one for each leaf */
    /* Leaves to insert, to change in place and to delete. The bytes of a leaf are `lens` bytes of
     * `data` from `ats` on, counted from 1. */
    struct {
        int64_t *terms, *fields, *bases, *ns, *ats, *lens;
        size_t count;
    } put;
    struct {
        struct str *ctids;
        int64_t *ns, *ats, *lens;
        size_t count;
    } set;
    struct {
        int64_t *terms, *fields, *bases;
        size_t count;
    } drop;
    char *data;
    size_t len;
};

enum { LEAF_WRITES = 1000, LEAF_WRITES_BYTES = LEAF_WRITES * LEAF_BYTES, LEAF_CALLS = 3 };

/* any: Begins an empty collection for a generation, with room for LEAF_WRITES leaves that are
 * written and LEAF_WRITES leaves that are deleted. */
void leaf_writes_init(struct leaf_writes *writes, struct arena *arena, int64_t idx);
/* any: leaf_writes_full(): no further leaf fits. leaf_writes_put() adds a leaf that is inserted, or
 * that replaces the list's leaf with the same base. */
bool leaf_writes_full(const struct leaf_writes *writes);
void leaf_writes_put(struct leaf_writes *writes, struct leaf_key key, const struct leaf *leaf);
/* any: leaf_writes_set() adds a leaf that the transaction has read at `place` (its ctid, borrowed)
 * and that has other ids now. leaf_writes_drop() adds a leaf to delete. */
void leaf_writes_set(struct leaf_writes *writes, struct str place, const struct leaf *leaf);
void leaf_writes_drop(struct leaf_writes *writes, struct leaf_key key, int64_t base);
/* any: Makes the statements for all leaves (0 to LEAF_CALLS) and returns how many. The collection
 * is empty again; the statements keep its memory. */
size_t leaf_writes_calls(struct leaf_writes *writes, struct db_call calls[static LEAF_CALLS]);
