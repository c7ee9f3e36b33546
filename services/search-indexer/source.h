#pragma once
/*
 * Records as they are now, cut into terms: what the index is to hold of them. Read apart from the
 * transaction that writes the index: what changes meanwhile has its own row in the outbox, which is
 * still there when this one is done.
 */
#include "search/forward.h"
#include "shape.h"
#include "terms.h"

struct doc {
    int64_t id;
    bool there;               /* the record is */
    struct forward_list list; /* sorted; a term is its word's number + 1 */
};

struct docs {
    struct doc *items; /* ascending ids */
    size_t count;
    size_t cap;
    bool more; /* of a page: there may be others behind it */
};

#define PAIRS_MOST ((size_t)400000) /* words of records, of which one transaction takes so many */

/* co: those of `ids`, which ascend, each once; arena-owned, words are put into `terms`.
 * DB_TOO_LARGE: several that have more than PAIRS_MOST. */
AWAITS int source_read(struct task *task,
                       struct db *db,
                       const struct index_shape *shape,
                       struct sql_i64s ids,
                       struct index_terms *terms,
                       struct docs *ret_docs) MUSTCHECK;
/* co: the next records behind `after`, `most` or as many as fit. */
AWAITS int source_page(struct task *task,
                       struct db *db,
                       const struct index_shape *shape,
                       int64_t after,
                       int64_t most,
                       struct index_terms *terms,
                       struct docs *ret_docs) MUSTCHECK;
/* any: of a statement's text: its name on connections. */
uint64_t source_hash(struct str text);
