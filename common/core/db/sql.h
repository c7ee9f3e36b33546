#pragma once
/*
 * Statements and parameters. Static statements come from .sql files (scripts/sqlgen, README.md);
 * dynamic statements are built by records/ with the same struct in an arena. "{p}" in a text is the
 * schema of the project that the statement runs in ("p_12").
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"

enum sql_kind { SQL_ONE, SQL_OPT, SQL_MANY, SQL_EXEC, SQL_PAGE };

/* The columns of a statement, as sql_*_row() reads them. scripts/sqlgen makes `hash` of their names
 * and types. */
struct sql_row {
    uint64_t hash;
    const char *name;
    const char *marks; /* one character per column: '?' nullable, '.' never null */
};

struct sql {
    const char *name; /* "users.users_list": logs, metrics */
    const char *text;
    uint64_t hash; /* of the text; dynamic statements mix in the model version */
    unsigned arity;
    enum sql_kind kind;
    const char *const *names;  /* names of the parameters; NULL: no parameters, or dynamic */
    const struct sql_row *row; /* NULL: the rows are written as JSON, or the statement is dynamic */
    const char *sort;          /* columns a :page may be sorted by, comma separated */
    bool writes; /* set for dynamic statements; static statements write unless their text is only
                    SELECT, WITH .. SELECT or VALUES */
    bool heavy;  /* never runs on a shared connection (exports, aggregates, counts) */
    bool narrow; /* rows are few and small, so they are counted together at the end */
    bool binary; /* columns in the server's own format: only rows_i64(), rows_bool(), rows_str() and
                    rows_bytes() read them */
    bool no_prepare; /* sent without a name: DDL and texts that are used once */
};

struct arena;

/* any: a :page statement as it is sent, arena-owned. It is ordered by one of the page's `sort`
 * columns, then by id. In a page without a column `id`, the first sort column is unique and takes
 * the place of id. The parameters $arity+1 and $arity+2 are limit and offset. Columns of names that
 * people choose (name, title, label, filename) are ordered by `collation`, unless such a column is
 * the unique one. With an empty `collation` they have the order of the database. */
struct sql *db_sql_page(struct arena *arena,
                        const struct sql *page,
                        const char *order_column,
                        bool descending,
                        struct str collation);
/* any: the statement that counts the rows of a page, arena-owned: one row with the column
 * total_items. Its parameters are those of the page's own text. */
struct sql *db_sql_count(struct arena *arena, const struct sql *page);

struct db_param {
    enum {
        PARAM_NULL,
        PARAM_I64,
        PARAM_F64,
        PARAM_BOOL,
        PARAM_STR,   /* text, json text, anything in PostgreSQL's input syntax */
        PARAM_TIME,  /* i64 = wall ms -> timestamptz */
        PARAM_BYTES, /* bytea */
        PARAM_I64S,  /* bigint[] */
        PARAM_STRS,  /* text[]; an item with ptr == NULL is a null element */
    } kind;
    union {
        int64_t i64;
        double f64;
        bool boolean;
        struct str str;
        struct {
            const void *items;
            size_t count;
        } list;
    };
};

#define P_NULL    ((struct db_param){.kind = PARAM_NULL})
#define P_I64(v)  ((struct db_param){.kind = PARAM_I64, .i64 = (v)})
#define P_F64(v)  ((struct db_param){.kind = PARAM_F64, .f64 = (v)})
#define P_BOOL(v) ((struct db_param){.kind = PARAM_BOOL, .boolean = (v)})
/* A text with ptr == NULL is sent as null. */
#define P_STR(v)       ((struct db_param){.kind = PARAM_STR, .str = (v)})
#define P_CSTR(v)      ((struct db_param){.kind = PARAM_STR, .str = str_from(v)})
#define P_TIME(v)      ((struct db_param){.kind = PARAM_TIME, .i64 = (v)})
#define P_BYTES(v)     ((struct db_param){.kind = PARAM_BYTES, .str = (v)})
#define P_I64S(ptr, n) ((struct db_param){.kind = PARAM_I64S, .list = {(ptr), (n)}})
#define P_STRS(ptr, n) ((struct db_param){.kind = PARAM_STRS, .list = {(ptr), (n)}})

/* --- types of named parameters and columns (scripts/sqlgen) --- */

/* Numbers that may be null. Other types need no such struct: a text without ptr, a time of 0 and an
 * array without items are null. */
struct opt_i64 {
    int64_t value;
    bool set;
};
struct opt_f64 {
    double value;
    bool set;
};
struct opt_bool {
    bool value;
    bool set;
};
#define NO_I64  ((struct opt_i64){0})
#define NO_F64  ((struct opt_f64){0})
#define NO_BOOL ((struct opt_bool){0})

static inline struct opt_i64 some_i64(int64_t value)
{
    return (struct opt_i64){value, true};
}
/* For ids, of which 0 is null. */
static inline struct opt_i64 some_id(int64_t id)
{
    return (struct opt_i64){id, id != 0};
}
static inline struct opt_f64 some_f64(double value)
{
    return (struct opt_f64){value, true};
}
static inline struct opt_bool some_bool(bool value)
{
    return (struct opt_bool){value, true};
}

struct sql_i64s {
    const int64_t *items;
    size_t count;
};
struct sql_strs {
    const struct str *items;
    size_t count;
};

static inline struct sql_i64s sql_i64s(const int64_t *items, size_t count)
{
    return (struct sql_i64s){items, count};
}
static inline struct sql_strs sql_strs(const struct str *items, size_t count)
{
    return (struct sql_strs){items, count};
}

#define P_OPT_I64(v)  ((v).set ? P_I64((v).value) : P_NULL)
#define P_OPT_F64(v)  ((v).set ? P_F64((v).value) : P_NULL)
#define P_OPT_BOOL(v) ((v).set ? P_BOOL((v).value) : P_NULL)
#define P_OPT_STR(v)  ((v).ptr ? P_STR(v) : P_NULL)
#define P_OPT_TIME(v) ((v) != 0 ? P_TIME(v) : P_NULL)
#define P_SQL_I64S(v) P_I64S((v).items, (v).count)
#define P_SQL_STRS(v) P_STRS((v).items, (v).count)
#define P_OPT_I64S(v) ((v).items ? P_SQL_I64S(v) : P_NULL)
#define P_OPT_STRS(v) ((v).items ? P_SQL_STRS(v) : P_NULL)

/* An initialiser must name the members. clang does not know this attribute. */
#ifdef __clang__
#define MEMBERS_BY_NAME
#else
#define MEMBERS_BY_NAME __attribute__((designated_init))
#endif

/* Parameters of a dynamic statement, in the order of their numbers: expands to the array and its
 * length. */
#define PARAMS(...)                                                                                \
    (const struct db_param[]){__VA_ARGS__},                                                        \
        (sizeof((const struct db_param[]){__VA_ARGS__}) / sizeof(struct db_param))

/* A migration that is compiled in: one string for each command, NULL-terminated. */
struct migration {
    int number; /* 0 ends the array */
    const char *name;
    const char *sha256;
    const char *const *commands;
};
