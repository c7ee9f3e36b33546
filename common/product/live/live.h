#pragma once
/*
 * The log of changes that GET /realtime reads: rows in the transactions of the changes, while
 * somebody listens to the project or has lately (model.live). It is an undo log: a row holds the
 * record as it was before. A position is what a snapshot of PostgreSQL has seen, so readers miss
 * nothing and wait for nobody: what one snapshot has and another has not is between them, whoever
 * commits when, and on every gateway alike.
 */
#include "db/db.h"
#include "model/model.h"
#include "project/project.h"

enum live_kind { LIVE_CREATED = 1, LIVE_UPDATED, LIVE_DELETED, LIVE_GRANTED, LIVE_RESET };

#define LIVE_KEEP_SECONDS 3600
/* What is logged of one project; what is beyond goes before its time. */
#define LIVE_KEEP_BYTES ((int64_t)128 << 20)
/* Of a record that is larger listeners are told to read it all again. */
#define LIVE_IMAGE_BYTES 65536

/* A grantee as a number: a user's (1), a group's (2) or a role's (3) id. */
static inline int64_t live_grantee(int64_t kind, int64_t id)
{
    return id * 4 + kind;
}

/* --- writing: calls for the transaction of the change --- */

/* any: records that were made; ids of 0 are left out. */
struct db_call live_created_call(struct arena *arena,
                                 const struct entity *entity,
                                 const int64_t *ids,
                                 size_t count);
/* any: before a locked record's grants change. */
struct db_call
live_granted_call(struct arena *arena, const struct entity *entity, int64_t record_id);
/* any: more records of these entities change than are written down. */
struct db_call live_reset_call(struct arena *arena, const int64_t *entity_ids, size_t count);

/* --- positions --- */

/* What was read: everything that the snapshot `since` has; and, when `upto` is not empty, of what
 * that one has more the rows up to `behind`; below 0: the entries of the audit log up to -behind,
 * which come before the rows. */
struct live_position {
    struct str since, upto;
    int64_t behind;
};
/* any: "since" or "since~upto~behind", borrowed. False for anything else. */
bool live_position_parse(struct str text, struct live_position *ret_position);
/* any: arena-owned. */
struct str live_position_print(struct arena *arena, const struct live_position *position);

/* --- the life of the log --- */

/* co: somebody listens for the next hour. Where nobody did, returns when everybody who changes
 * records logs it: after a second and a half. 0, or a DB_*. */
AWAITS int live_listen(struct task *task, struct directory *directory, struct project *project)
    MUSTCHECK;
/* any: removes what is too old from the logs of all projects, each minute, in turn with other
 * processes. Once in each worker. */
void live_sweep_start(struct directory *directory);
/* any: no more rounds; one under way ends with the background tasks. */
void live_sweep_stop(void);
