#pragma once
/*
 * The maximum size of a stored record (directory_record_bytes()). Texts, enum values, documents and
 * secrets count their bytes; every other field counts the bytes of its type (model_type.def), and
 * each link counts 8. The values of a write are summed here. The values that an update leaves
 * unchanged are measured by the UPDATE itself, so that many small updates cannot grow a record
 * beyond the limit.
 *
 * A control character takes six bytes in JSON. The JSON text of a record is therefore limited as
 * well, so that every stored record can be read (by default an answer may be twice as large as a
 * record) and emitted to consumers. Statements do not measure entities whose fields cannot reach
 * the limit.
 */
#include "records/rules/statement.h"
#include "records/write/body.h"

/* any: Returns the maximum size of a record's values as JSON, without the names of the fields. */
static inline int64_t size_json_limit(int64_t record_bytes)
{
    return record_bytes / 4 * 7;
}
/* any: Adds a finding to row->errors when the values of the write alone exceed the limit. */
void size_check(struct records_ctx *ctx, enum write_mode mode, struct write_row *row);
/* any: Appends the condition that the row named `alias` stays within the limit with the values of
 * `row`. */
void size_where(struct records_ctx *ctx,
                const struct entity *entity,
                const struct write_row *row,
                const char *alias,
                struct strbuf *sql,
                struct sql_params *params);
/* co: Call after an UPDATE that touched no row. Fails with the finding too_long when the size is
 * the reason; else returns 0. */
AWAITS int size_explain(struct records_ctx *ctx,
                        const struct entity *entity,
                        struct db *db,
                        int64_t id,
                        const struct write_row *row) MUSTCHECK;
/* any: Sets the failure of size_explain() and returns RECORDS_FAILED. */
int size_fail(struct records_ctx *ctx);
