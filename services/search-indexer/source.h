#pragma once
/*
 * Reads records as they are now and cuts them into terms: the input of batches (batch.c) and builds
 * (build.c).
 *
 * Records are read outside of the transaction that writes the index. A record that changes between
 * the read and the write has a new row in the outbox, which this transaction does not delete.
 */
#include "search/forward.h"
#include "shape.h"
#include "terms.h"

struct doc {
    int64_t id;
    bool exists;              /* the record exists */
    struct forward_list list; /* sorted; `term` is the word's number + 1 */
};

struct docs {
    struct doc *items; /* ascending ids */
    size_t count;
    size_t cap;
    bool more; /* source_page(): more records may follow */
};

#define PAIRS_MAX ((size_t)400000) /* pairs of term and field that one transaction takes */

/* co: Reads the records `ids` (ascending, each once): one item per id, arena-owned; their words are
 * added to `terms`. DB_TOO_LARGE: several records have more than PAIRS_MAX pairs together. */
AWAITS int source_read(struct task *task,
                       struct db *db,
                       const struct index_shape *fields,
                       struct sql_i64s ids,
                       struct index_terms *terms,
                       struct docs *ret_docs) MUSTCHECK;
/* co: Reads the next records after `after`: `most`, or as many as fit into one read. */
AWAITS int source_page(struct task *task,
                       struct db *db,
                       const struct index_shape *fields,
                       int64_t after,
                       int64_t most,
                       struct index_terms *terms,
                       struct docs *ret_docs) MUSTCHECK;
/* any: Hash of a statement's text, for sql.hash: the statement's name on connections. */
uint64_t source_hash(struct str text);
