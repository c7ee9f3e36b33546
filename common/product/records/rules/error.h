#pragma once
/*
 * The only code that turns failures into ctx->error. Functions that fail return RECORDS_FAILED, so
 * callers write `return records_fail(...)`.
 */
#include "records/records.h"

/* any: sets code and detail (arena-owned). Returns RECORDS_FAILED. */
int records_fail(struct records_ctx *ctx, enum problem code, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* any: does as records_fail(), with one finding. `code` is the problem (PROBLEM_INVALID_QUERY),
 * `finding` the fault of `field` (PROBLEM_REQUIRED). */
int records_fail_field(struct records_ctx *ctx,
                       enum problem code,
                       struct str field,
                       enum problem finding,
                       const char *format,
                       ...) PRINTF_LIKE(5, 6);
/* any: adds the finding for a field that does not exist or that the caller may not read. The text
 * is the same for both. `parameter` names the field's place in the query ("sort",
 * "filter[author.country]"). */
void records_finding_add_unknown(struct records_ctx *ctx, struct str parameter, struct str name);
/* any: fails because the model has changed and the call can no longer be repeated. */
int records_fail_schema(struct records_ctx *ctx);
#define RECORDS_HIDDEN_TEXT "The record cannot be stored as it is; ask an administrator."
/* any: fails because the value of a field that the caller may not read forbids a write. The answer
 * is the same for any field, value and reason. */
int records_fail_hidden(struct records_ctx *ctx);
/* any: fails with "The record does not exist.", for missing and for invisible rows. */
int records_fail_not_found(struct records_ctx *ctx);

/* any: returns 0, or RECORDS_FAILED (400) when the answer did not fit its buffer. */
int records_check_size(struct records_ctx *ctx, const struct strbuf *out) MUSTCHECK;

/* any: converts the result of a db_ call into a result of records/. 0 and negatives stay. DB_SCHEMA
 * becomes RECORDS_SCHEMA, but RECORDS_FAILED inside a transaction that cannot be repeated.
 * DB_CONFLICT stays inside a transaction that can be repeated. All others become RECORDS_FAILED.
 * `entity` names the fields of constraints u_<id> and fk_<id>. Call directly after the db_ call. */
int records_db_result(struct records_ctx *ctx, const struct entity *entity, int rc) MUSTCHECK;
