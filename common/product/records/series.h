#pragma once
/*
 * Series of a chart: computed values of an entity's records in groups, of which one may be spans of
 * the calendar, within a window of time. Row and field rules apply as in every read. Results as
 * those of records.h.
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
        enum bucket_unit bucket; /* BUCKET_NONE = group by the values themselves */
    } groups[SERIES_GROUPS];
    size_t group_count;
    struct series_value {
        enum series_function function;
        struct str path; /* STR_NONE for SERIES_COUNT */
    } values[SERIES_VALUES];
    size_t value_count;
    struct str timezone;    /* an IANA name, checked by the caller */
    struct str window_path; /* date or time field of the window; STR_NONE = no window */
    struct bucket_window window;
    struct str sort; /* a column: "-sum(total)", "count", "status"; STR_NONE = by the groups */
    int64_t limit;   /* maximum number of groups, at most AGGREGATE_GROUPS; one more is read */
};

/* A column of the result. Groups come first, then values, in their order. */
struct series_column {
    struct str name; /* "created_at", "sum(total)"; arena-owned */
    bool is_value;
    const char *type;                /* type in the API: "date", "integer", ... */
    const struct model_field *field; /* NULL for the count */
    enum bucket_unit bucket;
    size_t at; /* index of the column in the rows */
};

struct series_plan; /* a checked query, arena-owned (ctx->task) */

/* any: checks a query. Returns 0, or RECORDS_FAILED with findings that name members:
 * "group_by[1].field". */
int series_plan(struct records_ctx *ctx,
                const struct entity *entity,
                const struct records_series *query,
                struct series_plan **ret_plan) MUSTCHECK;
/* any: returns the number of columns; *ret_columns is arena-owned. */
size_t series_columns(const struct series_plan *plan, const struct series_column **ret_columns);
/* co: reads the rows within `window`; NULL = the plan's window. */
AWAITS int series_read(struct records_ctx *ctx,
                       const struct series_plan *plan,
                       const struct bucket_window *window,
                       struct rows *ret_rows) MUSTCHECK;
/* any: appends the statement of series_read() and returns the number of its columns. */
size_t series_select(struct records_ctx *ctx,
                     const struct series_plan *plan,
                     struct strbuf *sql,
                     struct sql_params *params);
/* any: writes one value of a row in the format of lists of records. */
void series_json(struct jw *w,
                 const struct series_column *column,
                 const struct rows *rows,
                 size_t row);

/* any: the first path of the query that the caller may not read; STR_NONE if the caller may read
 * all. */
struct str series_forbidden_path(const struct records_ctx *ctx,
                                 const struct entity *entity,
                                 const struct records_series *query);
/* any: whether the caller may read records of the entity, and every field that the query names. */
bool series_is_readable(const struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct records_series *query);

/* Sources of a query, on which its rows depend: the entities that are read, and the fields that the
 * query names, except system fields, which every reader of an entity may read. */
struct series_sources {
    const struct entity *entities[SERIES_SOURCES];
    size_t count;
    int64_t field_ids[SERIES_FIELDS];
    size_t field_count;
    bool is_complete; /* false: there are more than fit */
};
/* any: finds the sources of a query. */
void series_sources(const struct records_ctx *ctx,
                    const struct entity *entity,
                    const struct records_series *query,
                    struct series_sources *ret_sources);

/* A counter of changes to the sources, from PostgreSQL's statistics. Equal marks mean equal rows,
 * except for changes that are not in the statistics yet. A connection reports a change at once if
 * its last report is more than a second old. Otherwise it reports with its next transaction after
 * that second, or after ten idle seconds. */
struct series_mark {
    int64_t since;   /* when the statistics began */
    int64_t changes; /* rows inserted, updated and deleted since then */
};
/* co: reads the mark. `ruled`: also count changes of grants and group members. */
AWAITS int series_mark(struct records_ctx *ctx,
                       const struct series_sources *sources,
                       bool ruled,
                       struct series_mark *ret_mark) MUSTCHECK;
