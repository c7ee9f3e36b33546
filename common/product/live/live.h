#pragma once
/*
 * The log of changes that GET /realtime reads. The transaction of each change writes its rows,
 * while clients listen to the project or did lately (model.live). It is an undo log: a row holds
 * the record before the change. A position is a PostgreSQL snapshot. The changes between two
 * positions are those that one snapshot sees and the other does not. Readers therefore miss no
 * change, whichever transaction commits first. Readers wait for no open transaction and see the
 * same on every gateway.
 */
#include "db/db.h"
#include "model/model.h"
#include "project/project.h"

enum live_kind { LIVE_CREATED = 1, LIVE_UPDATED, LIVE_DELETED, LIVE_GRANTED, LIVE_RESET };

#define LIVE_KEEP_SECONDS 3600
/* Limit of one project's log. Older rows beyond the limit are deleted before LIVE_KEEP_SECONDS have
 * passed. */
#define LIVE_KEEP_BYTES ((int64_t)128 << 20)
/* A larger record is not copied; listeners must read its entity again. */
#define LIVE_IMAGE_BYTES 65536

/* A grantee as one number. Kinds: 1 = user, 2 = group, 3 = role. */
static inline int64_t live_grantee(int64_t kind, int64_t id)
{
    return id * 4 + kind;
}

/* --- writing: calls for the transaction of the change --- */

/* any: Logs created records; ids of 0 are skipped. */
struct db_call live_created_call(struct arena *arena,
                                 const struct entity *entity,
                                 const int64_t *ids,
                                 size_t count);
/* any: Logs a change of a record's grants. Call before the change, with the record locked. */
struct db_call
live_granted_call(struct arena *arena, const struct entity *entity, int64_t record_id);
/* any: Logs that records of these entities changed which are not logged one by one: listeners must
 * read the entities again. */
struct db_call live_reset_call(struct arena *arena, const int64_t *entity_ids, size_t count);

/* --- positions --- */

/* A client at this position has read all changes that the snapshot `since` sees. When `upto` is not
 * empty, the client has also read a part of the changes that only `upto` sees: rows of the log up
 * to `after_seq`. When `after_seq` is negative, the client has read no rows yet, but the entries of
 * the audit log up to -`after_seq`, which precede the rows. */
struct live_position {
    struct str since, upto;
    int64_t after_seq;
};
/* any: Parses "since" or "since~upto~after_seq"; texts are borrowed. Returns false for anything
 * else. */
bool live_position_parse(struct str text, struct live_position *ret_position);
/* any: Prints a position, arena-owned. */
struct str live_position_print(struct arena *arena, const struct live_position *position);

/* --- beginning and end of the log --- */

/* co: Keeps the project's log for the next hour. If there was no log, starts it. Until the log is
 * complete, waits 1.5 s, after which all processes log their changes, then at most 5 s for the
 * transactions that began before. Returns 0 or a DB_*. */
AWAITS int live_log_keep(struct task *task, struct directory *directory, struct project *project)
    MUSTCHECK;
/* any: Starts the sweep, which deletes old rows from the logs of all projects once a minute, shared
 * with the sweeps of other processes. Call once in each worker. */
void live_sweep_start(struct directory *directory);
/* any: Stops the sweep. A round that is running ends with the background tasks. */
void live_sweep_stop(void);
