#pragma once
/*
 * Keyset cursors. A cursor is the last row's sort keys, opaque to callers
 * (base64url), tied to entity, sort and filter so that one is not used with another query, and to
 * the locale that texts among the keys are ordered by: behind one of another locale come other
 * records. It grants nothing: row and field rules are applied again, and forged values are
 * parameters like any other.
 */
#include "records/query/sort.h"
#include "records/rules/statement.h"

#define CURSOR_VALUE_BYTES 1000 /* longest sort key that a cursor carries */

struct cursor {
    bool wanted;     /* the answer has a next_cursor */
    bool positioned; /* not the first page */
    uint64_t context;
    uint64_t order;                   /* of the locale that texts are sorted by; 0 without texts */
    struct str values[SORT_KEYS + 1]; /* ptr NULL = null */
};

/* any: reads query->cursor. 0 or RECORDS_FAILED (invalid_query). */
int cursor_open(struct records_ctx *ctx,
                const struct entity *entity,
                const struct records_query *query,
                const struct sort *sort,
                struct cursor *ret_cursor) MUSTCHECK;
/* any: appends the sort keys to a select list: ", t.f_3, t.id". */
void cursor_select(const struct records_ctx *ctx,
                   const struct sort *sort,
                   const char *alias,
                   struct strbuf *sql,
                   struct sql_params *params);
/* any: appends " and (<row comes after the cursor>)", or nothing on the first page. */
void cursor_where(const struct records_ctx *ctx,
                  const struct cursor *cursor,
                  const struct sort *sort,
                  const char *alias,
                  struct strbuf *sql,
                  struct sql_params *params);
/* any: the cursor behind a row whose sort keys begin at `column`; arena-owned. STR_NONE when a key
 * is too long to be carried. */
struct str cursor_print(struct arena *arena,
                        const struct cursor *cursor,
                        const struct sort *sort,
                        const struct rows *rows,
                        size_t row,
                        size_t column);
