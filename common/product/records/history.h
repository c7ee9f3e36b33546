#pragma once
/*
 * What records were, of entities that keep it (entity->history_days): triggers write a row of
 * {p}.h_<entity> in the transaction of each change, with what the record was before it
 * (0035_record_history.sql). Results as those of records.h; not_found when the entity keeps none.
 *
 * The rules of now hold for the past: who may not see a record sees none of its versions, and a
 * field that is hidden, or is no more, is in none of them; secrets never were. A deleted record is
 * seen by whoever would see it by its owner: administrators, its maker, X-Group-Id; grants ended
 * with it.
 */
#include "http/page.h"
#include "records/records.h"

/* co: the versions of a record, the newest first, as a page with its envelope. */
AWAITS int records_history(struct records_ctx *ctx,
                           const struct entity *entity,
                           int64_t id,
                           const struct page *page,
                           struct strbuf *out) MUSTCHECK;
/* co: records that were deleted and are not there again, the last one first. */
AWAITS int records_deleted(struct records_ctx *ctx,
                           const struct entity *entity,
                           const struct page *page,
                           struct strbuf *out) MUSTCHECK;
/* co: whether records_history_restore() would find the record and the version, and may: 0, or as
 * it fails. Changes nothing. */
AWAITS int records_history_may_restore(struct records_ctx *ctx,
                                       const struct entity *entity,
                                       int64_t id,
                                       int64_t version) MUSTCHECK;
/* co: makes a record what it was: an update by its caller, of the fields that it may read and
 * write; secrets and files stay as they are. A deleted one is made again first, with its id, owner
 * and everything it had but secrets and files; that needs the permission to create. Answers the
 * record. */
AWAITS int records_history_restore(struct records_ctx *ctx,
                                   const struct entity *entity,
                                   int64_t id,
                                   int64_t version,
                                   struct strbuf *out,
                                   int64_t *ret_version) MUSTCHECK;
