#pragma once
/*
 * The fields of an entity that a caller sees, as a select list and as JSON. Result columns are
 * always: 0 id, 1 version, then one for each field of the plan except id, in order. Writers use the
 * same plan after RETURNING (alias = the table's) or with a select by id.
 */
#include "json/jw.h"
#include "records/rules/statement.h"

struct expansion; /* expand.h: loaded records of one relation, written instead of their ids */

struct columns {
    const struct entity *entity;
    const struct model_field **fields; /* in the order of the answer; id first if selected */
    size_t count;
    struct expansion **expansions; /* parallel to fields, or NULL; items NULL = write ids */
};
/* any: the index of the column with the value of fields[i]. Call for each i from 0 on; *next is
 * COLUMNS_FIRST before the first call. */
size_t columns_at(const struct columns *plan, size_t i, size_t *next);
enum { COLUMNS_ID = 0, COLUMNS_VERSION = 1, COLUMNS_FIRST = 2 };

/* any: makes the plan of the named fields ("a,b"), or of all readable fields (STR_NONE). Owned by
 * the task's arena or the model. Returns 0 or RECORDS_FAILED (invalid_query: unknown field). */
int columns_plan(struct records_ctx *ctx,
                 const struct entity *entity,
                 struct str names,
                 struct columns *ret_plan) MUSTCHECK;
/* any: appends "t.id, t.version, t.f_3, (t.f_7 is not null), (select array_agg(...)), ...".
 * Relations to many records are correlated sub-selects that leave out records which the caller may
 * not see. */
void columns_sql(const struct records_ctx *ctx,
                 const struct columns *plan,
                 const char *alias,
                 struct strbuf *sql,
                 struct sql_params *params);
/* co: writes one record as an object. Lets other tasks run between values. Returns 0, -ECANCELED or
 * -ETIMEDOUT. */
AWAITS int columns_json(struct task *task,
                        struct jw *w,
                        const struct columns *plan,
                        const struct rows *rows,
                        size_t row) MUSTCHECK;
/* co: adds a record to the answer: its text to `out`, or a value to ctx->values. Results as of
 * columns_json(), or RECORDS_FAILED. */
AWAITS int columns_write_answer(struct records_ctx *ctx,
                                const struct columns *plan,
                                const struct rows *rows,
                                size_t row,
                                struct strbuf *out) MUSTCHECK;
/* any: writes only the members that the service sets: id, created_at, ... */
void columns_json_system(struct jw *w,
                         const struct columns *plan,
                         const struct rows *rows,
                         size_t row);
/* any: writes one value as columns_json() does, for exports and aggregates. */
void columns_write_value(struct jw *w,
                         const struct model_field *field,
                         const struct rows *rows,
                         size_t row,
                         size_t column);
