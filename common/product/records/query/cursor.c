/* Format of a cursor: version (1 byte), context (8), order (8), then for each key its length (2,
 * little-endian; 0xffff = null) and PostgreSQL's text of the value, which parses back to exactly
 * the same value. */
#include "records/query/cursor.h"

#include <string.h>

#include "base/codec.h"
#include "base/utf8.h"
#include "records/rules/error.h"
#include "records/rules/statement.h"

#define CURSOR_VERSION 2
#define CURSOR_HEAD    17
#define CURSOR_BYTES   (CURSOR_HEAD + (SORT_KEYS + 1) * (2 + CURSOR_VALUE_BYTES))
#define LENGTH_NULL    0xffffU

/* Identifies entity and query. The hash is no secret and no protection: it only detects a cursor of
 * another query. */
static uint64_t
context_hash(struct arena *arena, const struct entity *entity, const struct records_query *query)
{
    struct str id = arena_printf(arena, "%lld", (long long)entity->id);

    return str_hash_chunk(str_hash(id), query->context);
}

/* All texts of a query have the same collation, so the first one decides. */
static uint64_t order_hash(const struct sort *sort)
{
    for (size_t i = 0; i < sort->count; i++)
        if (sort->keys[i].path.collation.len > 0)
            return str_hash(sort->keys[i].path.collation);
    return 0;
}

/* --- reading --- */

static bool cursor_take(struct str *rest, void *ret, size_t bytes)
{
    if (rest->len < bytes)
        return false;
    memcpy(ret, rest->ptr, bytes);
    rest->ptr += bytes;
    rest->len -= bytes;
    return true;
}

static bool cursor_take_value(struct str *rest, struct str *ret_value)
{
    uint8_t bytes[2];

    if (!cursor_take(rest, bytes, sizeof(bytes)))
        return false;
    size_t len = (size_t)bytes[0] | (size_t)bytes[1] << 8;
    if (len == LENGTH_NULL) {
        *ret_value = STR_NONE;
        return true;
    }
    if (len > rest->len || len > CURSOR_VALUE_BYTES)
        return false;
    *ret_value = (struct str){rest->ptr, len};
    rest->ptr += len;
    rest->len -= len;
    return utf8_valid(*ret_value) && memchr(ret_value->ptr, 0, len) == NULL;
}

static bool read_cursor(struct arena *arena,
                        struct str text,
                        const struct sort *sort,
                        struct cursor *cursor,
                        uint64_t *ret_order)
{
    struct str rest;
    uint8_t version;
    uint64_t context;

    if (!codec_b64url_decode(arena, text, &rest) || !cursor_take(&rest, &version, 1) ||
        !cursor_take(&rest, &context, sizeof(context)) ||
        !cursor_take(&rest, ret_order, sizeof(*ret_order)))
        return false;
    if (version != CURSOR_VERSION || context != cursor->context)
        return false;
    for (size_t i = 0; i < sort->count; i++)
        if (!cursor_take_value(&rest, &cursor->values[i]))
            return false;
    return rest.len == 0 && cursor->values[sort->count - 1].ptr != NULL;
}

int cursor_open(struct records_ctx *ctx,
                const struct entity *entity,
                const struct records_query *query,
                const struct sort *sort,
                struct cursor *ret_cursor)
{
    struct arena *arena = ctx->task->arena;
    struct str text = query->cursor;
    uint64_t order = 0;

    *ret_cursor = (struct cursor){.is_requested = text.ptr != NULL, .has_position = text.len > 0};
    if (text.ptr == NULL)
        return 0;
    if (query->page != 0)
        return records_fail_field(ctx,
                                  PROBLEM_INVALID_QUERY,
                                  STR("cursor"),
                                  PROBLEM_INVALID_QUERY,
                                  "cannot be combined with page");
    ret_cursor->context = context_hash(arena, entity, query);
    ret_cursor->collation_hash = order_hash(sort);
    if (!ret_cursor->has_position)
        return 0;
    if (!read_cursor(arena, text, sort, ret_cursor, &order))
        return records_fail_field(ctx,
                                  PROBLEM_INVALID_QUERY,
                                  STR("cursor"),
                                  PROBLEM_INVALID_QUERY,
                                  "is not a cursor of this query");
    if (order != ret_cursor->collation_hash)
        return records_fail_field(ctx,
                                  PROBLEM_INVALID_QUERY,
                                  STR("cursor"),
                                  PROBLEM_INVALID_QUERY,
                                  "was made when the project had another locale, which sorts "
                                  "texts differently: begin again with an empty cursor");
    return 0;
}

/* --- SQL --- */

void cursor_put_select(const struct records_ctx *ctx,
                       const struct sort *sort,
                       const char *alias,
                       struct strbuf *sql,
                       struct sql_params *params)
{
    for (size_t i = 0; i < sort->count; i++) {
        strbuf_str(sql, STR(", "));
        path_value(ctx, &sort->keys[i].path, alias, sql, params);
    }
}

/* Where the comparison is written to, and its parts. */
struct cursor_writer {
    const struct records_ctx *ctx;
    const struct cursor *cursor;
    const struct sort *sort;
    const char *alias;
    struct strbuf *sql;
    struct sql_params *params;
};

static void cursor_put_key(const struct cursor_writer *out, size_t i)
{
    path_value(out->ctx, &out->sort->keys[i].path, out->alias, out->sql, out->params);
}

static void cursor_put_ordered(const struct cursor_writer *out, size_t i)
{
    path_value_collated(out->ctx, &out->sort->keys[i].path, out->alias, out->sql, out->params);
}

static void cursor_put_value(const struct cursor_writer *out, size_t i)
{
    sql_bind(out->sql,
             out->params,
             P_STR(out->cursor->values[i]),
             field_sql_type(out->sort->keys[i].path.field));
}

/* Without nulls and with one direction a row comparison is enough, and an index can serve it. */
static bool is_simple(const struct sort *sort)
{
    for (size_t i = 0; i < sort->count; i++)
        if (path_is_nullable(&sort->keys[i].path) ||
            sort->keys[i].descending != sort->keys[0].descending)
            return false;
    return true;
}

static void put_row_comparison(const struct cursor_writer *out)
{
    strbuf_char(out->sql, '(');
    for (size_t i = 0; i < out->sort->count; i++) {
        strbuf_str(out->sql, i > 0 ? STR(", ") : STR(""));
        cursor_put_ordered(out, i);
    }
    strbuf_str(out->sql, out->sort->keys[0].descending ? STR(") < (") : STR(") > ("));
    for (size_t i = 0; i < out->sort->count; i++) {
        strbuf_str(out->sql, i > 0 ? STR(", ") : STR(""));
        cursor_put_value(out, i);
    }
    strbuf_char(out->sql, ')');
}

static void put_equal(const struct cursor_writer *out, size_t i)
{
    cursor_put_key(out, i);
    if (out->cursor->values[i].ptr == NULL) {
        strbuf_str(out->sql, STR(" is null"));
        return;
    }
    strbuf_str(out->sql, STR(" = "));
    cursor_put_value(out, i);
}

/* No value is sorted after a null. */
static void put_after(const struct cursor_writer *out, size_t i)
{
    const struct sort_key *key = &out->sort->keys[i];

    if (out->cursor->values[i].ptr == NULL) {
        strbuf_str(out->sql, STR("false"));
        return;
    }
    strbuf_char(out->sql, '(');
    cursor_put_ordered(out, i);
    strbuf_str(out->sql, key->descending ? STR(" < ") : STR(" > "));
    cursor_put_value(out, i);
    if (path_is_nullable(&key->path)) {
        strbuf_str(out->sql, STR(" or "));
        cursor_put_key(out, i);
        strbuf_str(out->sql, STR(" is null"));
    }
    strbuf_char(out->sql, ')');
}

void cursor_put_where(const struct records_ctx *ctx,
                      const struct cursor *cursor,
                      const struct sort *sort,
                      const char *alias,
                      struct strbuf *sql,
                      struct sql_params *params)
{
    const struct cursor_writer out = {ctx, cursor, sort, alias, sql, params};

    if (!cursor->has_position)
        return;
    strbuf_str(sql, STR(" and ("));
    if (is_simple(sort)) {
        put_row_comparison(&out);
        strbuf_char(sql, ')');
        return;
    }
    for (size_t i = 0; i < sort->count; i++) {
        strbuf_str(sql, i > 0 ? STR(" or (") : STR("("));
        for (size_t k = 0; k < i; k++) {
            put_equal(&out, k);
            strbuf_str(sql, STR(" and "));
        }
        put_after(&out, i);
        strbuf_char(sql, ')');
    }
    strbuf_char(sql, ')');
}

/* --- printing --- */

struct str cursor_print(struct arena *arena,
                        const struct cursor *cursor,
                        const struct sort *sort,
                        const struct rows *rows,
                        size_t row,
                        size_t column)
{
    struct strbuf bytes;

    strbuf_init(&bytes, arena, CURSOR_BYTES);
    strbuf_char(&bytes, CURSOR_VERSION);
    strbuf_str(&bytes, (struct str){(const char *)&cursor->context, sizeof(cursor->context)});
    strbuf_str(&bytes,
               (struct str){(const char *)&cursor->collation_hash, sizeof(cursor->collation_hash)});
    for (size_t i = 0; i < sort->count; i++) {
        struct str value = rows_str(rows, row, column + i);
        size_t len = value.ptr != NULL ? value.len : LENGTH_NULL;
        if (value.len > CURSOR_VALUE_BYTES)
            return STR_NONE;
        strbuf_char(&bytes, (char)(len & 0xffU));
        strbuf_char(&bytes, (char)(len >> 8));
        if (value.ptr != NULL)
            strbuf_str(&bytes, value);
    }
    return codec_b64url(arena, strbuf_view(&bytes));
}
