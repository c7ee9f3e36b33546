#pragma once
/*
 * Records that a removal also deletes or changes, through foreign keys. PostgreSQL applies the
 * foreign keys without our help. When events of these records have consumers, the records are found
 * before the removal and their events are emitted with the removal: `deleted` for records that are
 * deleted too, `updated` with a new version for records that lose a reference.
 *
 * A caller who may delete a record needs no permission for the records that are deleted or changed
 * with it, as with foreign keys. A lock that another user holds on one of these records refuses the
 * removal.
 */
#include "records/records.h"

struct cascade;

/* any: Returns true when deleting records of the entity may emit events of other records, or may
 * delete or change other records while changes are logged. */
bool cascade_has_consumer(const struct records_ctx *ctx, const struct entity *entity);
/* co: Call before the removal. Finds the records that the removal also deletes or changes, and
 * locks them when `tx` is a transaction. Also writes the change-log rows of these records while
 * changes are logged. *ret_cascade is arena-owned; NULL when cascade_has_consumer() is false and no
 * other user holds a lock that might be in the way. Fails with too_many_rows above CASCADE_MAX
 * records, unless only the search index consumes the events of the rest. */
AWAITS int cascade_find(struct records_ctx *ctx,
                        const struct entity *entity,
                        struct db *tx,
                        const int64_t *ids,
                        size_t count,
                        struct cascade **ret_cascade) MUSTCHECK;
/* any: Returns true when another user holds a lock on a record that the removal would delete or
 * change. `cascade` may be NULL. */
bool cascade_is_locked(const struct cascade *cascade);
/* co: Fails with locked. The detail names the locked record only when the caller may read it. */
AWAITS int cascade_fail_locked(struct records_ctx *ctx,
                               struct db *db,
                               const struct cascade *cascade) MUSTCHECK;
/* co: Call after the removal, in the same transaction. Gives changed records a new version, removes
 * grants, locks and push devices of deleted records, and writes the outbox rows. `cascade` may be
 * NULL. */
AWAITS int cascade_emit(struct records_ctx *ctx, struct db *tx, struct cascade *cascade) MUSTCHECK;

#define CASCADE_MAX 10000 /* records found; as many as one request may delete by filter */
