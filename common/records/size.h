#pragma once
/*
 * Internal to records/: the maximum size of a record as it is stored (directory_record_bytes()).
 * Texts, documents and secrets count their bytes, every other field 8, a link 8. What a write
 * brings is summed here; what a change leaves as it is, is measured by the statement that changes
 * it, so that many small changes cannot grow a record beyond it. Entities whose fields cannot be
 * that much are not measured.
 */
#include "records/write.h"

/* any: adds a finding to row->errors when what a write brings is too much alone. */
void size_check(struct records *ctx, enum write_mode mode, struct write_row *row);
/* any: appends the condition that the row named `alias` is not too large with what `row` brings. */
void size_where(struct records *ctx,
                const struct entity *entity,
                const struct write_row *row,
                const char *alias,
                struct strbuf *sql,
                struct sql_params *params);
/* co: fails with too_long when that is why the change touched no row; else 0. */
AWAITS int size_explain(struct records *ctx,
                        const struct entity *entity,
                        struct db *db,
                        int64_t id,
                        const struct write_row *row) MUSTCHECK;
/* any: the failure itself. */
int size_fail(struct records *ctx);
