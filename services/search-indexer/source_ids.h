#pragma once
/* Finds the ids of records that are to be indexed again, some at a time: for fan_out.c and
 * verify.c.
 */
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
    int64_t checked_up_to; /* rows up to this id were checked and more follow; 0: the ids say how
                     far, or the end was reached */
    int64_t next_cursor; /* after source_ids_cut(): the cursor of the next step; 0: there is none */
};

/* any: Adds an id. */
void source_ids_add(struct source_ids *ids, int64_t entity_id, int64_t id);
/* any: Removes ids above `most`. */
void source_ids_limit(struct source_ids *ids, int64_t most);
/* any: Sorts by entity and id, and removes ids beyond `most`, which the next step finds again. Sets
 * ids->last. */
void source_ids_cut(struct source_ids *ids, size_t most);
/* co: Adds up to `most` records after `after` whose relation `field` refers to one of the targets.
 */
AWAITS int source_ids_refer(struct task *task,
                            struct db *db,
                            const struct model_field *field,
                            struct sql_i64s targets,
                            int64_t after,
                            int64_t most,
                            struct source_ids *ids) MUSTCHECK;
/* co: Adds records of the entity after `after`, and documents of the index whose record is gone.
 * since_ms (wall clock): only records that were changed since; 0: all. One step checks no more than
 * a few batches of either, however many there are; ids->upto says how far it came. */
AWAITS int source_ids_check(struct task *task,
                            struct db *db,
                            const struct entity *entity,
                            int64_t since_ms,
                            int64_t after,
                            int64_t most,
                            struct source_ids *ids) MUSTCHECK;
