#pragma once
/* Which records are to be looked at, found some at a time. */
#include "db/db.h"
#include "model/model.h"

struct source_id {
    int64_t entity_id;
    int64_t id;
};
struct source_ids {
    struct arena *arena;
    struct source_id *items;
    size_t count, cap;
    int64_t upto; /* looked through so far, with more behind; 0: to the end, or as far as ids go */
    int64_t last; /* where the next step goes on, after source_ids_cut(); 0: there is none */
};

/* any */
void source_ids_add(struct source_ids *ids, int64_t entity_id, int64_t id);
/* any: those above `most` go. */
void source_ids_limit(struct source_ids *ids, int64_t most);
/* any: sorts them by entity and id; of ids beyond `most` those go that the next step finds again.
 * Those before them, or all there are as far as was looked, are done with: ids->last. */
void source_ids_cut(struct source_ids *ids, size_t most);
/* co: records behind `after` whose relation has one of these targets. */
AWAITS int source_ids_refer(struct task *task,
                            struct db *db,
                            const struct model_field *field,
                            struct sql_i64s targets,
                            int64_t after,
                            int64_t most,
                            struct source_ids *ids) MUSTCHECK;
/* co: records of the entity behind `after`, and documents without one. With since_ms (wall) only
 * records that were changed since. One step looks at no more than a few batches of either, however
 * many there are: ids->upto. */
AWAITS int source_ids_check(struct task *task,
                            struct db *db,
                            const struct entity *entity,
                            int64_t since_ms,
                            int64_t after,
                            int64_t most,
                            struct source_ids *ids) MUSTCHECK;
