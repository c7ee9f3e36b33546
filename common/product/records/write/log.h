#pragma once
/*
 * Rows of the log of changes (live/live.h), while it is written (model.live): records as they are
 * before a change, which the statement locks as the change will.
 */
#include "live/live.h"
#include "records/rules/statement.h"

/* any: begins the statement; conditions on the row named t follow ("t.id = ..."), then log_end().
 * kind: LIVE_UPDATED or LIVE_DELETED. */
void log_begin(const struct entity *entity, enum live_kind kind, struct strbuf *sql);
/* any: ends it. */
struct db_call log_end(struct records_ctx *ctx,
                       enum live_kind kind,
                       struct strbuf *sql,
                       const struct sql_params *params);
/* any: the whole of it, for records by their ids. */
struct db_call log_ids_call(struct records_ctx *ctx,
                            const struct entity *entity,
                            enum live_kind kind,
                            const int64_t *ids,
                            size_t count);
/* any: of the record that this connection's last INSERT into the entity has made. */
struct db_call log_made_call(struct records_ctx *ctx, const struct entity *entity);
