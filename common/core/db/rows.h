#pragma once
/*
 * Result rows: text results of libpq (sessions run with TimeZone UTC, DateStyle ISO, bytea hex),
 * binary ones of statements that say so, borrowed from a PGresult that the task's arena clears.
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
    int64_t affected;            /* rows an INSERT/UPDATE/DELETE touched */
    bool cut;                    /* there were more than were to be kept (db_piece) */
    const struct sql_row *shape; /* of a statement with named columns */
};

/* By column number: of dynamic statements, of those that are not known where they are read, and for
 * the functions that scripts/sqlgen makes. rows_str borrows; STR_NONE for null. */
struct str rows_str(const struct rows *rows, size_t row, size_t column);
bool rows_null(const struct rows *rows, size_t row, size_t column);
int64_t rows_i64(const struct rows *rows, size_t row, size_t column); /* null = 0 */
bool rows_bool(const struct rows *rows, size_t row, size_t column);   /* null = false */
double rows_f64(const struct rows *rows, size_t row, size_t column);
int64_t rows_time(const struct rows *rows,
                  size_t row,
                  size_t column); /* timestamptz -> wall ms, null = 0 */
/* bytea -> bytes, bigint[] / text[] -> items; arena-owned, bytes of a binary statement borrowed. */
struct str rows_bytes(struct arena *arena, const struct rows *rows, size_t row, size_t column);
size_t rows_i64s(
    struct arena *arena, const struct rows *rows, size_t row, size_t column, int64_t **ret_items);
size_t rows_strs(struct arena *arena,
                 const struct rows *rows,
                 size_t row,
                 size_t column,
                 struct str **ret_items);
/* any: one row as rows of its own, which live as long as the arena. */
void rows_keep(struct arena *arena, const struct rows *rows, size_t row, struct rows *ret_row);
/* any: exchanges a value, which is copied; STR_NONE makes it null. Of a statement whose columns
 * come as text. */
void rows_replace(const struct rows *rows, size_t row, size_t column, struct str value);
/* any: makes the values of the named columns null. */
void rows_clear(const struct rows *rows, size_t row, const char *const names[], size_t count);
/* Column number by name, and whether there is one. */
bool rows_has(const struct rows *rows, const char *name);
/* Column number by name; panics when the statement has no such column. */
size_t rows_column(const struct rows *rows, const char *name);
const char *rows_column_name(const struct rows *rows, size_t column);

/* What sql_*_row() of the generated headers are made of. rows_expect() panics when the rows are
 * another statement's; in debug builds also when a column is null that is not marked so. */
void rows_expect(const struct rows *rows, size_t row, const struct sql_row *shape);
/* Whether they are of a statement with these columns: &sql_user_get_shape. */
bool rows_are(const struct rows *rows, const struct sql_row *shape);
struct opt_i64 rows_opt_i64(const struct rows *rows, size_t row, size_t column);
struct opt_f64 rows_opt_f64(const struct rows *rows, size_t row, size_t column);
struct opt_bool rows_opt_bool(const struct rows *rows, size_t row, size_t column);
struct sql_i64s
rows_sql_i64s(struct arena *arena, const struct rows *rows, size_t row, size_t column);
struct sql_strs
rows_sql_strs(struct arena *arena, const struct rows *rows, size_t row, size_t column);

/* JSON by column type: int, float, numeric (raw number), bool, json/jsonb (raw), timestamptz (RFC
 * 3339 ms Z), date, text (escaped), bigint[] and text[] (arrays), NaN and infinity (null).
 * rows_json_value writes one value; rows_json_members all columns as members of the open object,
 * leaving out columns whose name starts with '_'; rows_json_array the first `count` rows as an
 * array of such objects; co: others run in between, and it goes on to its end whatever happens. */
void rows_json_value(struct jw *w, const struct rows *rows, size_t row, size_t column);
void rows_json_members(struct jw *w, const struct rows *rows, size_t row);
AWAITS void rows_json_array(struct task *task, struct jw *w, const struct rows *rows, size_t count);
