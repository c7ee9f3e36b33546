#pragma once
/*
 * Texts and parameters of dynamic statements. Texts depend only on model and mode, never on the
 * caller's ids, so that all callers share one prepared statement.
 */
#include "records/records.h"

/* Statement texts are bounded by field counts and by the 50 conditions of a filter. */
#define RECORDS_SQL_BYTES ((size_t)1 << 20)

/* Growing parameter list in an arena. */
struct sql_params {
    struct arena *arena; /* borrowed */
    struct db_param *items;
    size_t count;
    size_t cap;
    unsigned
        caller[4]; /* numbers of the caller's user, groups, roles, group scope; 0 = not bound yet */
};
void sql_params_init(struct sql_params *params, struct arena *arena);
/* An empty statement without parameters. */
void sql_start(struct arena *arena, struct strbuf *ret_sql, struct sql_params *ret_params);
/* Adds a parameter; returns its number n for "$n". Texts are borrowed until the statement is sent.
 */
unsigned sql_params_add(struct sql_params *params, struct db_param param);
/* Adds a parameter and appends "$n::type". `type` is one of our own literals. */
void sql_bind(struct strbuf *sql,
              struct sql_params *params,
              struct db_param param,
              const char *type);
/* A statement of the finished text: hash of text and model version, arena-owned. The reader sets
 * writes and heavy afterwards. `name` is for logs: "records.list". */
struct sql *sql_dynamic(struct records_ctx *ctx,
                        const char *name,
                        struct strbuf *text,
                        size_t arity,
                        enum sql_kind kind);
/* any: PostgreSQL type of a field's column: "text", "bigint", "timestamptz", ... */
const char *statement_type(const struct model_field *field);
/* any: the collation that a field's texts are ordered by, a copy in the task's arena; empty for
 * what is no text. It is asked once for a query: another locale may come while pages of it are
 * read. */
struct str statement_collation(const struct records_ctx *ctx, const struct model_field *field);
/* any: appends ' collate "de-x-icu"', or nothing for an empty one. */
void statement_collate(struct strbuf *sql, struct str collation);
