#pragma once
/*
 * Writes rows of the change log (live/live.h) while changes are logged (model.live). A row has the
 * record as it is before a change. The statement that writes the row locks the record in the same
 * mode as the change does.
 */
#include "live/live.h"
#include "records/rules/statement.h"

/* any: Begins the statement. The caller appends conditions on the row named t ("t.id = ..."), then
 * calls log_end(). `kind`: LIVE_UPDATED or LIVE_DELETED. */
void log_begin(const struct entity *entity, enum live_kind kind, struct strbuf *sql);
/* any: Ends the statement of log_begin() and returns its call; the same `kind`. */
struct db_call log_end(struct records_ctx *ctx,
                       enum live_kind kind,
                       struct strbuf *sql,
                       const struct sql_params *params);
/* any: Returns the whole statement for the records with these ids. */
struct db_call log_ids_call(struct records_ctx *ctx,
                            const struct entity *entity,
                            enum live_kind kind,
                            const int64_t *ids,
                            size_t count);
/* any: Logs the creation of the record that this connection inserted last into the entity. */
struct db_call log_created_call(struct records_ctx *ctx, const struct entity *entity);
