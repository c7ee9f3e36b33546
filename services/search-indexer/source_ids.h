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
    int64_t last; /* the highest id that is kept, after source_ids_cut() */
};

/* any */
void source_ids_add(struct source_ids *ids, int64_t entity_id, int64_t id);
/* any: those above `most` go. */
void source_ids_limit(struct source_ids *ids, int64_t most);
/* any: sorts them by entity and id; of ids beyond `most` those go that the next step finds again.
 */
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
 * records that were changed since. */
AWAITS int source_ids_check(struct task *task,
                            struct db *db,
                            const struct entity *entity,
                            int64_t since_ms,
                            int64_t after,
                            int64_t most,
                            struct source_ids *ids) MUSTCHECK;
