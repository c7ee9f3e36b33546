#pragma once
/*
 * Result rows: results of libpq in text form (sessions run with TimeZone UTC, DateStyle ISO, bytea
 * hex), or in binary form for statements marked `binary`. They are borrowed from a PGresult that
 * the task's arena frees.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "db/sql.h"
#include "json/jw.h"
#include "loop/task.h"

struct rows {
    void *result; /* PGresult, NULL = none */
    size_t count;
    size_t columns;
    int64_t affected;            /* rows that an INSERT, UPDATE or DELETE touched */
    bool is_truncated;           /* there were more rows than db_chunk() keeps */
    const struct sql_row *shape; /* of a statement with named columns */
};

/* Values by column number: for dynamic statements, for code that does not know the statement, and
 * for the functions that scripts/sqlgen makes. rows_str() borrows, and returns STR_NONE for null;
 * rows_f64() returns 0 for null. */
struct str rows_str(const struct rows *rows, size_t row, size_t column);
bool rows_null(const struct rows *rows, size_t row, size_t column);
int64_t rows_i64(const struct rows *rows, size_t row, size_t column); /* null = 0 */
bool rows_bool(const struct rows *rows, size_t row, size_t column);   /* null = false */
double rows_f64(const struct rows *rows, size_t row, size_t column);
/* A timestamptz as wall ms: 0 for null, INT64_MAX and INT64_MIN for infinity and -infinity. */
int64_t rows_time(const struct rows *rows, size_t row, size_t column);
/* rows_bytes() decodes bytea, rows_i64s() a bigint[] and rows_strs() a text[]; rows_i64s() and
 * rows_strs() return the number of items. Arena-owned; bytes of a binary statement are borrowed. */
struct str rows_bytes(struct arena *arena, const struct rows *rows, size_t row, size_t column);
size_t rows_i64s(
    struct arena *arena, const struct rows *rows, size_t row, size_t column, int64_t **ret_items);
size_t rows_strs(struct arena *arena,
                 const struct rows *rows,
                 size_t row,
                 size_t column,
                 struct str **ret_items);
/* any: copies one row into rows of its own, which live as long as the arena. */
void rows_copy_row(struct arena *arena, const struct rows *rows, size_t row, struct rows *ret_row);
/* any: replaces a value by a copy of `value`; STR_NONE makes it null. Only for statements whose
 * columns arrive as text. */
void rows_replace(const struct rows *rows, size_t row, size_t column, struct str value);
/* any: makes the values of the named columns null. */
void rows_clear(const struct rows *rows, size_t row, const char *const names[], size_t count);
/* Whether the result has a column of this name. */
bool rows_has(const struct rows *rows, const char *name);
/* rows_column() returns a column's number by its name, and panics when the statement has no such
 * column; rows_column_name() returns its name, borrowed. */
size_t rows_column(const struct rows *rows, const char *name);
const char *rows_column_name(const struct rows *rows, size_t column);

/* Used by sql_*_row() of the generated headers. rows_expect() panics when the rows are another
 * statement's; in debug builds also when a column is null that is not marked as nullable. */
void rows_expect(const struct rows *rows, size_t row, const struct sql_row *shape);
/* rows_have_shape(): whether the rows have these columns, such as &sql_user_get_shape. The
 * functions after it read values that may be null. */
bool rows_have_shape(const struct rows *rows, const struct sql_row *shape);
struct opt_i64 rows_opt_i64(const struct rows *rows, size_t row, size_t column);
struct opt_f64 rows_opt_f64(const struct rows *rows, size_t row, size_t column);
struct opt_bool rows_opt_bool(const struct rows *rows, size_t row, size_t column);
struct sql_i64s
rows_sql_i64s(struct arena *arena, const struct rows *rows, size_t row, size_t column);
struct sql_strs
rows_sql_strs(struct arena *arena, const struct rows *rows, size_t row, size_t column);

/* Rows as JSON by column type: int, float, numeric (raw number), bool, json/jsonb (raw),
 * timestamptz (RFC 3339 ms Z), date, text (escaped), bigint[] and text[] (arrays), NaN and infinity
 * (null). rows_json_value() writes one value. rows_json_members() writes all columns as members of
 * the open object, except columns whose name starts with '_'. rows_json_array() writes the first
 * `count` rows as an array of such objects; co: it lets other coroutines run in between, and writes
 * all rows even when the task is cancelled. */
void rows_json_value(struct jw *w, const struct rows *rows, size_t row, size_t column);
void rows_json_members(struct jw *w, const struct rows *rows, size_t row);
AWAITS void rows_json_array(struct task *task, struct jw *w, const struct rows *rows, size_t count);
