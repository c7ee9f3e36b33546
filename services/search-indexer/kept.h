#pragma once
/*
 * What the writer of a project's index keeps from one batch, and one turn, to the next: words that
 * it has met, so that they are not looked up again, and how many changes a batch takes. It holds as
 * long as nobody else has had the lease: a claim counts its token up by one. A process keeps this
 * for few projects, some megabytes each, and nothing for one that has nothing left to do.
 */
#include "terms.h"

struct kept;

/* any: NULL: there is no room for another project's. */
struct kept *kept_take(int64_t number, int64_t token);
/* any: the turn is over; `more`: another one follows. */
void kept_end(struct kept *kept, bool more, size_t batch);
/* any: what another process's turn has made worthless goes, some seconds later. */
void kept_sweep(void);
/* any: how many changes a batch took last; 0: nobody knows. */
size_t kept_batch(const struct kept *kept);
/* any thread: words without an id that are known learn theirs. */
void kept_find(struct kept *kept, struct index_terms *terms);
/* any thread: words as they stand in the tables now: their transaction has been committed. */
void kept_store(struct kept *kept, const struct index_terms *terms);
/* any: words have changed otherwise, or may have. */
void kept_forget(struct kept *kept);
