#pragma once
/*
 * A record's state at some time as columns, each a JSON text: of a document of the past, or of the
 * record as it is, in the same shape. A column is null where the document has no such member.
 */
#include "json/jw.h"
#include "records/history.h"
#include "records/read/columns.h"
#include "records/rules/statement.h"

/* h_<entity>.action */
enum { HISTORY_UPDATED = 1, HISTORY_DELETED = 2, HISTORY_RESTORED = 3 };

/* The fields: what the caller may read, but secrets. */
struct history_plan {
    const struct entity *entity;
    const struct model_field **fields; /* without id */
    size_t count;
};
/* any: 0, or not_found when the entity keeps no history. Arena-owned (ctx->task). */
int history_plan(struct records_ctx *ctx,
                 const struct entity *entity,
                 struct history_plan *ret_plan) MUSTCHECK;

/* co: reads by a finished text. */
AWAITS int history_query(struct records_ctx *ctx,
                         const struct entity *entity,
                         const char *name,
                         struct strbuf *text,
                         const struct sql_params *params,
                         struct rows *ret_rows) MUSTCHECK;
/* any: appends ", x.doc -> 'f_3', ..." of the plan. Links lead to what the caller sees; `existing`:
 * and to nothing else. */
void history_put_fields(const struct records_ctx *ctx,
                        const struct history_plan *plan,
                        bool existing,
                        struct strbuf *sql,
                        struct sql_params *params);
/* any: appends the join that makes x of a document. */
void history_put_document(const char *document, struct strbuf *sql);
/* any: the document of the record `t` as it is; arena-owned. */
const char *history_now(struct arena *arena, const struct history_plan *plan);
/* any: appends " and <alias>.at >= ..." for what is kept still. */
void history_put_kept(const struct entity *entity, const char *alias, struct strbuf *sql);

/* any: appends the deleted records that are not there again, as h (id, version, at, actor_id,
 * created_by, before), under the row rule for ACT_READ or ACT_UPDATE, of which owners are left; the
 * caller goes on with " and ...". */
void history_put_deleted(const struct records_ctx *ctx,
                         const struct history_plan *plan,
                         enum perm_action action,
                         bool documents,
                         struct strbuf *sql,
                         struct sql_params *params);
/* co: the record as it is, for who may read it: version, then the plan's columns. When there is
 * none, *ret_deleted is the version that its deletion made; not_found when it was not deleted, or
 * the caller may not know of it, or with ACT_UPDATE not change it. */
AWAITS int history_find(struct records_ctx *ctx,
                        const struct history_plan *plan,
                        enum perm_action action,
                        int64_t id,
                        struct rows *ret_live,
                        int64_t *ret_deleted) MUSTCHECK;

/* One state: its columns from `first` on. rows NULL = none is known. */
struct history_state {
    const struct rows *rows;
    size_t row, first;
};
/* any: the JSON text of a field, STR_NONE = there is none. */
struct str history_text(const struct history_state *state, size_t field);
/* co: writes it as the record that it was. */
AWAITS int history_put_state(struct records_ctx *ctx,
                             struct jw *w,
                             const struct history_plan *plan,
                             int64_t id,
                             const struct history_state *state) MUSTCHECK;
/* any: writes a JSON text, times as answers write them. */
void history_put_value(struct jw *w, const struct model_field *field, struct str text);
