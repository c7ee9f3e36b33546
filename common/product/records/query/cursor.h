#pragma once
/*
 * Keyset cursors. A cursor contains the sort keys of the last row and is opaque to callers
 * (base64url). It is tied to entity, sort and filter, so that it is not used with another query,
 * and to the locale that orders its texts, because another locale would continue with other
 * records. A cursor grants nothing: row and field rules are applied again, and forged values are
 * parameters like any other.
 */
#include "records/query/sort.h"
#include "records/rules/statement.h"

#define CURSOR_VALUE_BYTES 1000 /* longest sort key that a cursor carries */

struct cursor {
    bool is_requested; /* whether the answer has a next_cursor */
    bool has_position; /* false on the first page */
    uint64_t context;
    uint64_t collation_hash;          /* hash of the collation that sorts texts; 0 without texts */
    struct str values[SORT_KEYS + 1]; /* ptr NULL = null */
};

/* any: reads query->cursor. Returns 0 or RECORDS_FAILED (invalid_query). */
int cursor_open(struct records_ctx *ctx,
                const struct entity *entity,
                const struct records_query *query,
                const struct sort *sort,
                struct cursor *ret_cursor) MUSTCHECK;
/* any: appends the sort keys to a select list: ", t.f_3, t.id". */
void cursor_put_select(const struct records_ctx *ctx,
                       const struct sort *sort,
                       const char *alias,
                       struct strbuf *sql,
                       struct sql_params *params);
/* any: appends " and (<row comes after the cursor>)", or nothing on the first page. */
void cursor_put_where(const struct records_ctx *ctx,
                      const struct cursor *cursor,
                      const struct sort *sort,
                      const char *alias,
                      struct strbuf *sql,
                      struct sql_params *params);
/* any: makes the cursor that continues after a row; the row's sort keys begin at `column`.
 * Arena-owned. STR_NONE if a key is too long for a cursor. */
struct str cursor_print(struct arena *arena,
                        const struct cursor *cursor,
                        const struct sort *sort,
                        const struct rows *rows,
                        size_t row,
                        size_t column);
