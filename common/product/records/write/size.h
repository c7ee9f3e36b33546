#pragma once
/*
 * The maximum size of a record as it is stored (directory_record_bytes()).
 * Texts, documents and secrets count their bytes, every other field 8, a link 8. What a write
 * brings is summed here; what a change leaves as it is, is measured by the statement that changes
 * it, so that many small changes cannot grow a record beyond it. A control character is six bytes
 * as JSON: what texts are there is measured too, so that what is stored can be read (an answer is
 * twice a record by default) and emitted to listeners. Entities whose fields cannot be that much
 * are not measured.
 */
#include "records/rules/statement.h"
#include "records/write/body.h"

/* any: what the fields of a record may be as JSON, without their names. */
static inline int64_t size_json_limit(int64_t record_bytes)
{
    return record_bytes / 4 * 7;
}
/* any: adds a finding to row->errors when what a write brings is too much alone. */
void size_check(struct records_ctx *ctx, enum write_mode mode, struct write_row *row);
/* any: appends the condition that the row named `alias` is not too large with what `row` brings. */
void size_where(struct records_ctx *ctx,
                const struct entity *entity,
                const struct write_row *row,
                const char *alias,
                struct strbuf *sql,
                struct sql_params *params);
/* co: fails with too_long when that is why the change touched no row; else 0. */
AWAITS int size_explain(struct records_ctx *ctx,
                        const struct entity *entity,
                        struct db *db,
                        int64_t id,
                        const struct write_row *row) MUSTCHECK;
/* any: the failure itself. */
int size_fail(struct records_ctx *ctx);
