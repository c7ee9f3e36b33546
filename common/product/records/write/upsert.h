#pragma once
/* Rows that replace those with the same value of a unique field. */
#include "records/write/body.h"
#include "records/write/bulk.h"

/* any: 0, or 400 when on_conflict is not one readable unique field; *ret_key is that field. */
int upsert_key(struct records_ctx *ctx,
               const struct entity *entity,
               const struct records_bulk *in,
               const struct model_field **ret_key) MUSTCHECK;
/* co: upserts rows in one transaction, all or nothing. Fills id and updated of each result; when it
 * fails, *ret_failed is the row that was refused, or `count` when none is to blame. */
AWAITS int upsert_rows(struct records_ctx *ctx,
                       const struct entity *entity,
                       const struct model_field *key,
                       struct write_row *rows,
                       size_t count,
                       struct records_bulk_result *results,
                       size_t *ret_failed) MUSTCHECK;
