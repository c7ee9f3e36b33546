#pragma once
/*
 * Series of a chart: computed values of an entity's records in up to two groups, one of them by
 * spans of the calendar, within a window of it. Row and field rules are those of every read.
 * Results as those of records.h.
 */
#include "db/rows.h"
#include "records/bucket.h"
#include "records/records.h"

struct sql_params;

#define SERIES_GROUPS  3
#define SERIES_VALUES  10
#define SERIES_SOURCES 64
#define SERIES_FIELDS  320 /* 64 paths of five steps */

enum series_function {
    SERIES_COUNT,
    SERIES_SUM,
    SERIES_AVG,
    SERIES_MIN,
    SERIES_MAX,
    SERIES_FUNCTIONS,
};
/* "count", "sum", "avg", "min", "max", NULL-terminated. */
extern const char *const series_functions[];

struct records_series {
    struct records_filter filter;
    struct series_group {
        struct str path;
        enum bucket_unit bucket; /* BUCKET_NONE = its values themselves */
    } groups[SERIES_GROUPS];
    size_t group_count;
    struct series_value {
        enum series_function function;
        struct str path; /* STR_NONE of the count */
    } values[SERIES_VALUES];
    size_t value_count;
    struct str timezone; /* a name that the caller has checked */
    struct str within;   /* path of the window's date or time; STR_NONE = no window */
    struct bucket_window window;
    struct str sort; /* "-sum(total)", "count", "status": of a column; STR_NONE = by the groups */
    int64_t limit;   /* groups, at most AGGREGATE_GROUPS; one more is read */
};

/* A column of what is read: the groups, then the values, in their order. */
struct series_column {
    struct str name; /* "created_at", "sum(total)"; arena-owned */
    bool is_value;
    const char *type;                /* of the API: "date", "integer", ... */
    const struct model_field *field; /* NULL of the count */
    enum bucket_unit bucket;
    size_t at; /* among the columns of the rows */
};

struct series_plan; /* checked, arena-owned (ctx->task) */

/* any: 0, or RECORDS_FAILED with findings that name the members: "group_by[1].field". */
int series_plan(struct records_ctx *ctx,
                const struct entity *entity,
                const struct records_series *query,
                struct series_plan **ret_plan) MUSTCHECK;
/* any: its columns; *ret_columns is arena-owned. */
size_t series_columns(const struct series_plan *plan, const struct series_column **ret_columns);
/* co: the rows within the plan's window, or another one of its field. */
AWAITS int series_read(struct records_ctx *ctx,
                       const struct series_plan *plan,
                       const struct bucket_window *window,
                       struct rows *ret_rows) MUSTCHECK;
/* any: appends what series_read() would send; how many columns it has. */
size_t series_select(struct records_ctx *ctx,
                     const struct series_plan *plan,
                     struct strbuf *sql,
                     struct sql_params *params);
/* any: one value of them, as lists of records write it. */
void series_json(struct jw *w,
                 const struct series_column *column,
                 const struct rows *rows,
                 size_t row);

/* any: the first path of the query that the caller may not read; STR_NONE when it may read all. */
struct str series_forbidden(const struct records_ctx *ctx,
                            const struct entity *entity,
                            const struct records_series *query);
/* any: the caller reads records of the entity, and every field that the query names. */
bool series_is_readable(const struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct records_series *query);

/* What the rows depend on: the entities whose records are looked at, and the fields that the query
 * names, but for system fields, which every reader of an entity reads. */
struct series_sources {
    const struct entity *entities[SERIES_SOURCES];
    size_t count;
    int64_t field_ids[SERIES_FIELDS];
    size_t field_count;
    bool whole; /* false: there are more */
};
void series_sources(const struct records_ctx *ctx,
                    const struct entity *entity,
                    const struct records_series *query,
                    struct series_sources *ret_sources);

/* What of them has changed so far, by the server's own statistics: equal marks mean equal rows, but
 * for changes of the last moments. A connection tells of its changes at once when it has told of
 * none for a second, else with its next transaction after that second or after ten idle ones. */
struct series_mark {
    int64_t since;   /* when the statistics began */
    int64_t changes; /* rows inserted, updated and deleted since */
};
/* co: `ruled`: grants and members of groups are looked at, too. */
AWAITS int series_mark(struct records_ctx *ctx,
                       const struct series_sources *sources,
                       bool ruled,
                       struct series_mark *ret_mark) MUSTCHECK;
