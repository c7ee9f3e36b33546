#pragma once
/*
 * Which fields of an entity a caller is shown, as a select list and as JSON.
 * Result columns are always: 0 id, 1 version, then one per field of the plan but id, in order.
 * Writers use the same plan after RETURNING (alias = the table's) or with a select by id.
 */
#include "json/jw.h"
#include "records/rules/statement.h"

struct expansion; /* expand.h: loaded records of one relation, written in place of ids */

struct columns {
    const struct entity *entity;
    const struct model_field **fields; /* as written: id first unless left out */
    size_t count;
    struct expansion **expansions; /* parallel to fields, or NULL; items NULL = plain ids */
};
/* Where the value of fields[i] is among the columns of a row; *next = COLUMNS_FIRST before i = 0.
 */
size_t columns_at(const struct columns *plan, size_t i, size_t *next);
enum { COLUMNS_ID = 0, COLUMNS_VERSION = 1, COLUMNS_FIRST = 2 };

/* any: the plan of the named fields ("a,b"), or of all readable ones (STR_NONE). 0 or
 * RECORDS_FAILED (unknown field, invalid_query). Arena-owned (ctx->task). */
int columns_plan(struct records_ctx *ctx,
                 const struct entity *entity,
                 struct str names,
                 struct columns *ret_plan) MUSTCHECK;
/* any: appends "t.id, t.version, t.f_3, (t.f_7 is not null), (select array_agg(...)), ...". Many
 * relations are correlated sub-selects that leave out targets the caller may not see. */
void columns_sql(const struct records_ctx *ctx,
                 const struct columns *plan,
                 const char *alias,
                 struct strbuf *sql,
                 struct sql_params *params);
/* co: writes one record object; others have their turn between its values. 0, -ECANCELED,
 * -ETIMEDOUT. */
AWAITS int columns_json(struct task *task,
                        struct jw *w,
                        const struct columns *plan,
                        const struct rows *rows,
                        size_t row) MUSTCHECK;
/* co: what the caller is given of a record: its text, or a value in ctx->values. As columns_json(),
 * or RECORDS_FAILED. */
AWAITS int columns_answer(struct records_ctx *ctx,
                          const struct columns *plan,
                          const struct rows *rows,
                          size_t row,
                          struct strbuf *out) MUSTCHECK;
/* any: writes only what the service sets: id, created_at, ... */
void columns_json_system(struct jw *w,
                         const struct columns *plan,
                         const struct rows *rows,
                         size_t row);
/* any: writes one value as columns_json does (exports, aggregates). */
void columns_value(struct jw *w,
                   const struct model_field *field,
                   const struct rows *rows,
                   size_t row,
                   size_t column);
