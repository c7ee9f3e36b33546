#pragma once
/*
 * Earlier versions of records, for entities that keep history (entity->history_days). Triggers
 * write a row of {p}.h_<entity> in the transaction of each change. The row contains the record
 * before the change (0011_live.sql). Results as in records.h; not_found when the
 * entity keeps no history.
 *
 * Today's rules apply to earlier versions. A caller that may not see a record sees none of its
 * versions. Versions have no fields that are hidden from the caller or deleted from the model, and
 * never had secrets. Only ownership decides who sees a deleted record, because its grants
 * ended with it: administrators, its creator, and callers with a matching X-Group-Id.
 */
#include "http/page.h"
#include "records/records.h"

/* co: writes a page of the versions of a record, newest first, with the page's envelope. */
AWAITS int records_history(struct records_ctx *ctx,
                           const struct entity *entity,
                           int64_t id,
                           const struct page *page,
                           struct strbuf *out) MUSTCHECK;
/* co: writes a page of records that were deleted and not restored, last deleted first. */
AWAITS int records_deleted(struct records_ctx *ctx,
                           const struct entity *entity,
                           const struct page *page,
                           struct strbuf *out) MUSTCHECK;
/* co: checks whether records_history_restore() would find the record and the version, and whether
 * the caller may restore them. Returns 0, or fails as records_history_restore() would. Changes
 * nothing. */
AWAITS int records_history_may_restore(struct records_ctx *ctx,
                                       const struct entity *entity,
                                       int64_t id,
                                       int64_t version) MUSTCHECK;
/* co: restores a version. This is an update by the caller of the fields that the caller may read
 * and write; secrets and files stay as they are. A deleted record is first created again with its
 * id, owner and all values except secrets and files; this needs the permission to create. Writes
 * the record. */
AWAITS int records_history_restore(struct records_ctx *ctx,
                                   const struct entity *entity,
                                   int64_t id,
                                   int64_t version,
                                   struct strbuf *out,
                                   int64_t *ret_version) MUSTCHECK;
