#pragma once
/*
 * Texts and parameters of dynamic statements. A text depends only on model and mode, never on the
 * caller's ids, so that all callers share one prepared statement.
 */
#include "records/records.h"

/* The numbers of fields and of a filter's conditions (50) bound the text of a statement. */
#define RECORDS_SQL_BYTES ((size_t)1 << 20)

/* Growing parameter list in an arena. */
struct sql_params {
    struct arena *arena; /* borrowed */
    struct db_param *items;
    size_t count;
    size_t cap;
    unsigned caller[4]; /* numbers of the parameters for enum caller_part of rls.c; 0 = not bound */
};
/* any: begins an empty list. */
void sql_params_init(struct sql_params *params, struct arena *arena);
/* any: begins an empty statement without parameters. */
void sql_start(struct arena *arena, struct strbuf *ret_sql, struct sql_params *ret_params);
/* any: adds a parameter and returns its number n for "$n". Texts are borrowed until the statement
 * is sent. */
unsigned sql_params_add(struct sql_params *params, struct db_param param);
/* any: adds a parameter and appends "$n::type". `type` must be one of our own literals. */
void sql_bind(struct strbuf *sql,
              struct sql_params *params,
              struct db_param param,
              const char *type);
/* any: makes a statement, arena-owned, of the finished text. Its hash covers text and model
 * version. The caller may set writes and heavy afterwards. `name` is for logs: "records.list". */
struct sql *sql_dynamic(struct records_ctx *ctx,
                        const char *name,
                        struct strbuf *text,
                        size_t arity,
                        enum sql_kind kind);
/* any: the PostgreSQL type of a field's column: "text", "bigint", "timestamptz", ... */
const char *field_sql_type(const struct model_field *field);
/* any: the collation that orders a field's texts, copied into the task's arena; empty if the field
 * is no text. Call once for a query: the project's locale may change while pages of the query are
 * read. */
struct str field_collation(const struct records_ctx *ctx, const struct model_field *field);
/* any: appends ' collate "de-x-icu"', or nothing if `collation` is empty. */
void sql_put_collation(struct strbuf *sql, struct str collation);
