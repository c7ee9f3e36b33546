/* Values of result rows, from PostgreSQL's text form or from columns of binary statements. */
#include "db/rows.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "db/rows_json_private.h"
#include "db/rows_private.h"

bool rows_null(const struct rows *rows, size_t row, size_t column)
{
    MUST(row < rows->count && column < rows->columns);
    return PQgetisnull(rows->result, (int)row, (int)column);
}

struct str rows_str(const struct rows *rows, size_t row, size_t column)
{
    if (rows_null(rows, row, column))
        return STR_NONE;
    return (struct str){PQgetvalue(rows->result, (int)row, (int)column),
                        (size_t)PQgetlength(rows->result, (int)row, (int)column)};
}

/* True for a column of a statement that is marked `binary`. */
static bool is_binary(const struct rows *rows, size_t column)
{
    return PQfformat(rows->result, (int)column) == 1;
}

/* Reads a signed integer of two, four or eight bytes, highest byte first. */
static int64_t signed_bytes(struct str bytes)
{
    uint64_t value = bytes.len > 0 && (unsigned char)bytes.ptr[0] >= 0x80 ? UINT64_MAX : 0;

    for (size_t i = 0; i < bytes.len; i++)
        value = value << 8 | (unsigned char)bytes.ptr[i];
    return (int64_t)value;
}

void rows_replace(const struct rows *rows, size_t row, size_t column, struct str value)
{
    MUST(row < rows->count && column < rows->columns && !is_binary(rows, column));
    MUST(PQsetvalue(
        rows->result, (int)row, (int)column, (char *)value.ptr, value.ptr ? (int)value.len : -1));
}

void rows_clear(const struct rows *rows, size_t row, const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        rows_replace(rows, row, rows_column(rows, names[i]), STR_NONE);
}

int64_t rows_i64(const struct rows *rows, size_t row, size_t column)
{
    struct str text = rows_str(rows, row, column);
    int64_t value = 0;

    if (is_binary(rows, column))
        return signed_bytes(text);
    (void)num_parse_i64(text, &value);
    return value;
}

bool rows_bool(const struct rows *rows, size_t row, size_t column)
{
    struct str text = rows_str(rows, row, column);
    return text.len > 0 && text.ptr[0] == (is_binary(rows, column) ? 1 : 't');
}

double rows_f64(const struct rows *rows, size_t row, size_t column)
{
    struct str text = rows_str(rows, row, column);
    /* libpq ends every value with a NUL. strtod() also reads "NaN" and "Infinity". */
    return text.ptr ? strtod(text.ptr, NULL) : 0;
}

int64_t rows_time(const struct rows *rows, size_t row, size_t column)
{
    struct str text = rows_str(rows, row, column);
    char buf[TIME_TEXT_BYTES];
    int64_t wall_ms = 0;

    if (str_is(text, "infinity"))
        return INT64_MAX;
    if (str_is(text, "-infinity"))
        return INT64_MIN;
    size_t len = time_text(buf, text);
    if (len > 0)
        (void)clock_parse((struct str){buf, len}, &wall_ms);
    return wall_ms;
}

/* The value of a hexadecimal digit. */
static unsigned hex_value(char c)
{
    return ((unsigned)c & 15) + 9 * ((unsigned)c >> 6 & 1);
}

/* Decodes eight hexadecimal digits at once: searches read posting lists of megabytes. */
static uint32_t four_bytes(const char *digits)
{
    uint64_t at;

    memcpy(&at, digits, sizeof(at)); /* amd64 and arm64 are little endian */
    at = (at & UINT64_C(0x0F0F0F0F0F0F0F0F)) + 9 * (at >> 6 & UINT64_C(0x0101010101010101));
    at = (at << 4 | at >> 8) & UINT64_C(0x00FF00FF00FF00FF);
    at = (at | at >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    return (uint32_t)(at | at >> 16);
}

struct str rows_bytes(struct arena *arena, const struct rows *rows, size_t row, size_t column)
{
    struct str text = rows_str(rows, row, column);

    if (!text.ptr)
        return STR_NONE;
    if (is_binary(rows, column))
        return text;
    MUST(text.len >= 2 && text.len % 2 == 0 && text.ptr[0] == '\\' && text.ptr[1] == 'x');
    size_t len = text.len / 2 - 1;
    char *bytes = arena_alloc(arena, len + 1);
    size_t i = 0;
    for (; i + 4 <= len; i += 4) {
        uint32_t four = four_bytes(text.ptr + 2 + 2 * i);
        memcpy(bytes + i, &four, sizeof(four));
    }
    for (; i < len; i++)
        bytes[i] = (char)(unsigned char)(hex_value(text.ptr[2 + 2 * i]) << 4 |
                                         hex_value(text.ptr[3 + 2 * i]));
    return (struct str){bytes, len};
}

/* --- arrays --- */

/* Length of an item without quotes: up to its ',' or the closing '}'. */
static size_t plain_end(const char *at)
{
    return strcspn(at, ",}");
}

static size_t quoted_end(struct str text, bool *ret_escaped)
{
    size_t end = 1;

    *ret_escaped = false;
    while (end < text.len && text.ptr[end] != '"') {
        if (text.ptr[end] == '\\') {
            *ret_escaped = true;
            end++;
        }
        end++;
    }
    return end;
}

bool array_next(struct str *rest, struct array_item *ret_item)
{
    /* *rest begins with "{" at first, with "," before later items and with "}" at the end. */
    if (rest->len < 2 || rest->ptr[0] == '}')
        return false;
    struct str at = {rest->ptr + 1, rest->len - 1};
    if (at.ptr[0] == '}')
        return false;
    *ret_item = (struct array_item){.text = STR_NONE};
    size_t used;
    if (at.ptr[0] == '"') {
        size_t end = quoted_end(at, &ret_item->escaped);
        MUST(end < at.len);
        ret_item->text = (struct str){at.ptr + 1, end - 1};
        used = end + 1;
    } else {
        used = plain_end(at.ptr);
        ret_item->text = (struct str){at.ptr, used};
        ret_item->null = str_is(ret_item->text, "NULL");
    }
    *rest = (struct str){at.ptr + used, at.len - used};
    return true;
}

struct str array_unescape(struct arena *arena, const struct array_item *item)
{
    size_t len = 0;

    if (!item->escaped)
        return item->text;
    char *text = arena_alloc(arena, item->text.len + 1);
    for (size_t i = 0; i < item->text.len; i++) {
        if (item->text.ptr[i] == '\\')
            i++;
        text[len++] = item->text.ptr[i];
    }
    text[len] = '\0';
    return (struct str){text, len};
}

static size_t rows_count_items(struct str text)
{
    struct array_item item;
    size_t count = 0;

    while (array_next(&text, &item))
        count++;
    return count;
}

size_t rows_i64s(
    struct arena *arena, const struct rows *rows, size_t row, size_t column, int64_t **ret_items)
{
    struct str text = rows_str(rows, row, column);
    size_t count = rows_count_items(text);
    int64_t *items = ARENA_ARRAY(arena, items, count);
    struct array_item item;

    for (size_t i = 0; array_next(&text, &item); i++)
        (void)num_parse_i64(item.text, &items[i]);
    *ret_items = items;
    return count;
}

size_t rows_strs(
    struct arena *arena, const struct rows *rows, size_t row, size_t column, struct str **ret_items)
{
    struct str text = rows_str(rows, row, column);
    size_t count = rows_count_items(text);
    struct str *items = ARENA_ARRAY(arena, items, count);
    struct array_item item;

    for (size_t i = 0; array_next(&text, &item); i++)
        items[i] = item.null ? STR_NONE : array_unescape(arena, &item);
    *ret_items = items;
    return count;
}

/* --- as structs --- */

bool rows_have_shape(const struct rows *rows, const struct sql_row *shape)
{
    return rows->shape != NULL && rows->shape->hash == shape->hash;
}

void rows_expect(const struct rows *rows, size_t row, const struct sql_row *shape)
{
    if (!rows_have_shape(rows, shape))
        PANIC("rows of %s are read as %s",
              rows->shape ? rows->shape->name : "another statement",
              shape->name);
    MUST(row < rows->count && rows->columns == strlen(shape->marks));
#ifdef GW_DEBUG
    for (size_t i = 0; i < rows->columns; i++)
        if (shape->marks[i] != '?' && rows_null(rows, row, i))
            PANIC("%s: %s is null and not marked so", shape->name, rows_column_name(rows, i));
#endif
}

struct opt_i64 rows_opt_i64(const struct rows *rows, size_t row, size_t column)
{
    return rows_null(rows, row, column) ? NO_I64 : some_i64(rows_i64(rows, row, column));
}

struct opt_f64 rows_opt_f64(const struct rows *rows, size_t row, size_t column)
{
    return rows_null(rows, row, column) ? NO_F64 : some_f64(rows_f64(rows, row, column));
}

struct opt_bool rows_opt_bool(const struct rows *rows, size_t row, size_t column)
{
    return rows_null(rows, row, column) ? NO_BOOL : some_bool(rows_bool(rows, row, column));
}

struct sql_i64s
rows_sql_i64s(struct arena *arena, const struct rows *rows, size_t row, size_t column)
{
    int64_t *items;
    size_t count = rows_i64s(arena, rows, row, column, &items);

    return (struct sql_i64s){rows_null(rows, row, column) ? NULL : items, count};
}

struct sql_strs
rows_sql_strs(struct arena *arena, const struct rows *rows, size_t row, size_t column)
{
    struct str *items;
    size_t count = rows_strs(arena, rows, row, column, &items);

    return (struct sql_strs){rows_null(rows, row, column) ? NULL : items, count};
}

/* --- by name --- */

static void rows_result_clear(void *result)
{
    PQclear(result);
}

void rows_copy_row(struct arena *arena, const struct rows *rows, size_t row, struct rows *ret_row)
{
    PGresult *stored = PQcopyResult(rows->result, PG_COPYRES_ATTRS);
    bool done = stored != NULL;

    for (int i = 0; done && i < (int)rows->columns; i++) {
        bool null = rows_null(rows, row, (size_t)i);
        done = PQsetvalue(stored,
                          0,
                          i,
                          null ? NULL : PQgetvalue(rows->result, (int)row, i),
                          null ? -1 : PQgetlength(rows->result, (int)row, i));
    }
    if (!done)
        PANIC("out of memory (rows)");
    arena_defer(arena, rows_result_clear, stored);
    *ret_row =
        (struct rows){.result = stored, .count = 1, .columns = rows->columns, .shape = rows->shape};
}

bool rows_has(const struct rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->columns; i++)
        if (strcmp(PQfname(rows->result, (int)i), name) == 0)
            return true;
    return false;
}

size_t rows_column(const struct rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->columns; i++)
        if (strcmp(PQfname(rows->result, (int)i), name) == 0)
            return i;
    PANIC("the result has no column %s", name);
}

const char *rows_column_name(const struct rows *rows, size_t column)
{
    MUST(column < rows->columns);
    return PQfname(rows->result, (int)column);
}
