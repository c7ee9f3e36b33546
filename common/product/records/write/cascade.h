#pragma once
/*
 * What a removal takes along. Foreign keys do it by themselves; where
 * somebody listens it is found out before, and emitted with it: records that go too as deleted,
 * records that let go of a reference as updated, with a version of their own.
 *
 * Whoever may remove a record may remove what its model says goes with it: as foreign keys do, this
 * asks for no permission on the others. A lock that somebody else holds on one of them is
 * respected.
 */
#include "records/records.h"

struct cascade;

/* any: a removal from the entity may emit events of other records. */
bool cascade_listens(const struct records_ctx *ctx, const struct entity *entity);
/* co, before the removal: what goes with these records or lets go of them, locked when this is a
 * transaction. *ret_cascade is arena-owned, NULL when nobody listens and nobody holds a lock that
 * might be in the way. Fails with too_many_rows above CASCADE_MAX. */
AWAITS int cascade_find(struct records_ctx *ctx,
                        const struct entity *entity,
                        struct db *tx,
                        const int64_t *ids,
                        size_t count,
                        struct cascade **ret_cascade) MUSTCHECK;
/* any: somebody else holds a lock on a record that would go, or let go. */
bool cascade_is_locked(const struct cascade *cascade);
/* co: fails with locked, naming that record to those who may see it. */
AWAITS int cascade_fail_locked(struct records_ctx *ctx,
                               struct db *db,
                               const struct cascade *cascade) MUSTCHECK;
/* co, in the same transaction, after the removal: versions, grants, locks and outbox rows. */
AWAITS int cascade_emit(struct records_ctx *ctx, struct db *tx, struct cascade *cascade) MUSTCHECK;

#define CASCADE_MAX 10000 /* records found, as many as one request may delete by filter */
