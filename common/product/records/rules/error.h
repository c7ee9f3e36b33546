#pragma once
/*
 * The one place where failures become ctx->error. Functions that fail return
 * RECORDS_FAILED, so callers write `return records_fail(...)`.
 */
#include "records/records.h"

/* any: sets code and detail (arena-owned); returns RECORDS_FAILED. */
int records_fail(struct records_ctx *ctx, enum problem code, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* any: the same with one finding: `code` is the problem (PROBLEM_INVALID_QUERY),
 * `finding` what is wrong with `field` (PROBLEM_REQUIRED). */
int records_fail_field(struct records_ctx *ctx,
                       enum problem code,
                       struct str field,
                       enum problem finding,
                       const char *format,
                       ...) PRINTF_LIKE(5, 6);
/* any: the finding for a field that does not exist or may not be read: one text for both.
 * `parameter` is what named it ("sort", "filter[author.country]"). */
void records_finding_unknown(struct records_ctx *ctx, struct str parameter, struct str name);
/* any: the model changed, and it is too late to begin again. */
int records_fail_schema(struct records_ctx *ctx);
/* any: a value of a field that the caller may not read stands against a write: one answer whichever
 * field, value and reason it is. */
#define RECORDS_HIDDEN_TEXT "The record cannot be stored as it is; ask an administrator."
int records_fail_hidden(struct records_ctx *ctx);
/* any: "The record does not exist." for missing and invisible rows alike. */
int records_fail_not_found(struct records_ctx *ctx);

/* any: 0, or 400 when the answer did not fit its buffer. */
int records_fits(struct records_ctx *ctx, const struct strbuf *out) MUSTCHECK;

/* any: result of a db_ call to a result of records/: 0 and negatives as they are, DB_SCHEMA to
 * RECORDS_SCHEMA (inside a transaction that is not repeated to a failure), DB_CONFLICT to itself in
 * one that is, all others to RECORDS_FAILED. `entity` names the fields of u_<id> and fk_<id>. Call
 * it right after the db_ call. */
int records_db(struct records_ctx *ctx, const struct entity *entity, int rc) MUSTCHECK;
