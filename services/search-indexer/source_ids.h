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
    int64_t checked_up_to; /* rows up to this id were checked, and more rows follow; 0: the end was
                              reached, or the last id in `items` says how far the step came */
    int64_t next_cursor; /* after source_ids_cut(): the cursor of the next step; 0: there is none */
};

/* any: Adds an id. */
void source_ids_add(struct source_ids *ids, int64_t entity_id, int64_t id);
/* any: Removes items whose id is above `most`. */
void source_ids_limit(struct source_ids *ids, int64_t most);
/* any: Keeps the `most` lowest ids, sorted by entity and id. The next step finds the removed ids
 * again. Sets ids->next_cursor. */
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
 * since_ms (wall clock): only records that were changed since; 0: all. One step checks at most
 * `most` records and `most` documents, with since_ms CHECK_FACTOR times as many. Sets
 * ids->checked_up_to. */
AWAITS int source_ids_check(struct task *task,
                            struct db *db,
                            const struct entity *entity,
                            int64_t since_ms,
                            int64_t after,
                            int64_t most,
                            struct source_ids *ids) MUSTCHECK;
