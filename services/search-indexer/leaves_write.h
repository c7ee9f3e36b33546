#pragma once
/* Leaves on their way into the table: some megabytes a statement. */
#include "db/db.h"
#include "search/leaf.h"

struct leaf_key {
    int64_t term;
    int64_t field;
};

struct leaf_writes {
    struct arena *arena;
    int64_t idx;
    bool fresh;  /* what is put is not there: of a rebuild */
    size_t rows; /* of all statements so far: each leaf is one */
    struct {
        int64_t *terms, *fields, *bases, *ns, *ats, *lens;
        size_t count;
    } put;
    struct {
        struct str *places;
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

/* any: room for LEAF_WRITES that are written, and as many that go. */
void leaf_writes_init(struct leaf_writes *writes, struct arena *arena, int64_t idx);
/* any: no further leaf fits. */
bool leaf_writes_full(const struct leaf_writes *writes);
void leaf_writes_put(struct leaf_writes *writes, struct leaf_key key, const struct leaf *leaf);
/* any: one that the transaction has read, at `place`, with other ids. */
void leaf_writes_set(struct leaf_writes *writes, struct str place, const struct leaf *leaf);
void leaf_writes_drop(struct leaf_writes *writes, struct leaf_key key, int64_t base);
/* any: the statements (0 to LEAF_CALLS), and how many; what is written from now on is another's. */
size_t leaf_writes_calls(struct leaf_writes *writes, struct db_call calls[static LEAF_CALLS]);
