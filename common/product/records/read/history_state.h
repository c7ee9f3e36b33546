#pragma once
/*
 * States of a record as columns of JSON texts. A state is a document of an earlier version, or the
 * record as it is now in the same shape. A column is null if the document has no such member.
 */
#include "json/jw.h"
#include "records/history.h"
#include "records/read/columns.h"
#include "records/rules/statement.h"

/* values of h_<entity>.action */
enum { HISTORY_UPDATED = 1, HISTORY_DELETED = 2, HISTORY_RESTORED = 3 };

/* The fields that the caller may read, except secrets. */
struct history_plan {
    const struct entity *entity;
    const struct model_field **fields; /* without id */
    size_t count;
};
/* any: makes the plan, arena-owned (ctx->task). Returns 0, or not_found if the entity keeps no
 * history. */
int history_plan(struct records_ctx *ctx,
                 const struct entity *entity,
                 struct history_plan *ret_plan) MUSTCHECK;

/* co: runs a finished text as a statement. */
AWAITS int history_query(struct records_ctx *ctx,
                         const struct entity *entity,
                         const char *name,
                         struct strbuf *text,
                         const struct sql_params *params,
                         struct rows *ret_rows) MUSTCHECK;
/* any: appends ", x.doc -> 'f_3', ..." for the plan's fields. Leaves out links to records that the
 * caller may not see, and with `existing` also links to records that no longer exist. */
void history_put_fields(const struct records_ctx *ctx,
                        const struct history_plan *plan,
                        bool existing,
                        struct strbuf *sql,
                        struct sql_params *params);
/* any: appends the join that makes x.doc of a document. */
void history_put_document(const char *document, struct strbuf *sql);
/* any: an SQL expression for the document of the record `t` as it is now; arena-owned. */
const char *history_live_document(struct arena *arena, const struct history_plan *plan);
/* any: appends " and <alias>.at >= ...": only rows within the entity's days of history. */
void history_put_retained(const struct entity *entity, const char *alias, struct strbuf *sql);

/* any: appends the deleted records that were not restored, as h (id, version, at, actor_id,
 * created_by, before), with the row rule for ACT_READ or ACT_UPDATE. Only ownership can match the
 * rule, because the grants ended with the record. `documents`: also x.doc of each. The caller may
 * append " and ...". */
void history_put_from_deleted(const struct records_ctx *ctx,
                              const struct history_plan *plan,
                              enum perm_action action,
                              bool documents,
                              struct strbuf *sql,
                              struct sql_params *params);
/* co: reads a record as it is now, if the caller may read it: version, then the plan's columns. If
 * the record does not exist, *ret_deleted is the version that its deletion made. not_found if the
 * record was not deleted, or if the caller may not know of it or, with ACT_UPDATE, may not change
 * it. */
AWAITS int history_find(struct records_ctx *ctx,
                        const struct history_plan *plan,
                        enum perm_action action,
                        int64_t id,
                        struct rows *ret_live,
                        int64_t *ret_deleted) MUSTCHECK;

/* One state; its columns begin at `first`. rows NULL = unknown state. */
struct history_state {
    const struct rows *rows;
    size_t row, first;
};
/* any: the JSON text of a field; STR_NONE if it is unknown. */
struct str history_state_text(const struct history_state *state, size_t field);
/* co: writes the state as a record, or null if the state is unknown. */
AWAITS int history_put_state(struct records_ctx *ctx,
                             struct jw *w,
                             const struct history_plan *plan,
                             int64_t id,
                             const struct history_state *state) MUSTCHECK;
/* any: writes a JSON text; times have the format of answers. */
void history_put_value(struct jw *w, const struct model_field *field, struct str text);
