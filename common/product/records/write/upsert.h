#pragma once
/* Upserts rows: changes the record that has the same value of a unique field, or creates a
 * record. */
#include "records/write/body.h"
#include "records/write/bulk.h"

/* any: Finds the readable unique field that on_conflict names; *ret_key is borrowed from
 * ctx->model. Fails with validation_failed when there is not exactly one, and with forbidden when
 * the caller may not update the entity. */
int upsert_key(struct records_ctx *ctx,
               const struct entity *entity,
               const struct records_bulk *in,
               const struct model_field **ret_key) MUSTCHECK;
/* co: Upserts rows in one transaction, all or nothing. Fills id and updated of each result. On
 * failure *ret_failed is the index of the refused row, or `count` when no row is to blame. */
AWAITS int upsert_rows(struct records_ctx *ctx,
                       const struct entity *entity,
                       const struct model_field *key,
                       struct write_row *rows,
                       size_t count,
                       struct records_bulk_result *results,
                       size_t *ret_failed) MUSTCHECK;
