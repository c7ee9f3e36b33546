/* Counts, sums, averages and extremes, in groups. */
#include <string.h>

#include "records/query/filter.h"
#include "records/query/path.h"
#include "records/read/columns.h"
#include "records/records.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

#define GROUP_FIELDS 3
#define METRICS_MAX  20

static const char *const metric_names[METRIC_KINDS] = {"sum", "avg", "min", "max"};

struct grouping {
    const struct entity *entity;
    struct path groups[GROUP_FIELDS];
    struct str group_names[GROUP_FIELDS];
    size_t group_count;
    struct metric {
        enum metric_kind kind;
        struct path path;
        struct str name;
    } metrics[METRICS_MAX]; /* by kind */
    size_t metric_count;
    bool count;
    int64_t limit;
    struct filter *filter;
};

/* --- what is asked for --- */

static void aggregate_refuse(struct records_ctx *ctx, const char *parameter, const char *message)
{
    records_finding(ctx, str_from(parameter), PROBLEM_INVALID_QUERY, "%s", message);
}

/* A single-valued path, or a finding. */
static bool aggregate_read_path(struct records_ctx *ctx,
                                const struct grouping *in,
                                const char *parameter,
                                struct str name,
                                struct path *ret)
{
    if (!path_find(ctx, in->entity, name, ret)) {
        records_finding_unknown(ctx, str_from(parameter), name);
        return false;
    }
    if (!path_many(ret))
        return true;
    aggregate_refuse(ctx, parameter, "relations to many records have no single value");
    return false;
}

static void
read_groups(struct records_ctx *ctx, const struct records_aggregate *query, struct grouping *in)
{
    struct str rest = query->group_by;

    while (rest.ptr != NULL) {
        struct str name = str_split(&rest, ',');
        struct path path;
        if (in->group_count == GROUP_FIELDS) {
            aggregate_refuse(ctx, "group_by", "names more than 3 fields");
            return;
        }
        if (!aggregate_read_path(ctx, in, "group_by", name, &path))
            continue;
        if (path.field->type == TYPE_SECRET || path.field->type == TYPE_JSON) {
            aggregate_refuse(ctx, "group_by", "json and secret fields cannot be grouped by");
            continue;
        }
        for (size_t i = 0; i < in->group_count; i++)
            if (str_eq(in->group_names[i], name))
                aggregate_refuse(ctx, "group_by", "names a field twice");
        in->groups[in->group_count] = path;
        in->group_names[in->group_count++] = name;
    }
}

static bool metric_fits(enum metric_kind kind, const struct model_field *field)
{
    switch (field->type) {
    case TYPE_INTEGER:
    case TYPE_FLOAT:
    case TYPE_DECIMAL:
        return true;
    case TYPE_VARCHAR:
    case TYPE_TEXT:
    case TYPE_ENUM:
    case TYPE_DATE:
    case TYPE_DATETIME:
        return kind == METRIC_MIN || kind == METRIC_MAX;
    default:
        return false;
    }
}

static void read_metrics(struct records_ctx *ctx,
                         const struct records_aggregate *query,
                         enum metric_kind kind,
                         struct grouping *in)
{
    const char *parameter = metric_names[kind];
    struct str rest = query->metrics[kind];
    size_t first = in->metric_count;

    while (rest.ptr != NULL) {
        struct metric metric = {.kind = kind, .name = str_split(&rest, ',')};
        if (in->metric_count == METRICS_MAX) {
            aggregate_refuse(ctx, parameter, "makes more than 20 values");
            return;
        }
        if (!aggregate_read_path(ctx, in, parameter, metric.name, &metric.path))
            continue;
        if (!metric_fits(kind, metric.path.field))
            aggregate_refuse(ctx, parameter, "does not go with fields of this type");
        for (size_t i = first; i < in->metric_count; i++)
            if (str_eq(in->metrics[i].name, metric.name))
                aggregate_refuse(ctx, parameter, "names a field twice");
        in->metrics[in->metric_count++] = metric;
    }
}

/* A group is a member of the answer beside "count" and "sum": both under one name would not do. */
static void check_names(struct records_ctx *ctx, const struct grouping *in)
{
    for (size_t i = 0; i < in->group_count; i++) {
        struct str name = in->group_names[i];
        bool taken = in->count && str_is(name, "count");
        for (size_t k = 0; k < in->metric_count; k++)
            taken = taken || str_is(name, metric_names[in->metrics[k].kind]);
        if (taken)
            aggregate_refuse(ctx, "group_by", "names a field that is called like a computed value");
    }
}

static int
plan_groups(struct records_ctx *ctx, const struct records_aggregate *query, struct grouping *in)
{
    read_groups(ctx, query, in);
    for (int kind = 0; kind < METRIC_KINDS; kind++)
        read_metrics(ctx, query, (enum metric_kind)kind, in);
    if (query->count.ptr != NULL && !str_is(query->count, "*"))
        aggregate_refuse(ctx, "count", "must be *");
    in->count = query->count.ptr != NULL || in->metric_count == 0;
    check_names(ctx, in);
    in->limit = query->limit;
    if (in->limit < 1 || in->limit > AGGREGATE_GROUPS)
        records_finding(
            ctx, STR("limit"), PROBLEM_OUT_OF_RANGE, "must be between 1 and %d", AGGREGATE_GROUPS);
    TRY(records_fail_found(ctx, PROBLEM_INVALID_QUERY));
    return filter_plan(ctx, in->entity, &query->filter, &in->filter);
}

/* --- statement --- */

static void put_numbers(struct strbuf *text, const char *clause, size_t count)
{
    if (count == 0)
        return;
    strbuf_cstr(text, clause);
    for (size_t i = 0; i < count; i++) {
        strbuf_str(text, i > 0 ? STR(", ") : STR(""));
        strbuf_i64(text, (int64_t)i + 1);
    }
}

/* Columns: groups, count (always), metrics. */
AWAITS static int
aggregate_read_rows(struct records_ctx *ctx, const struct grouping *in, struct rows *ret_rows)
{
    struct arena *arena = ctx->task->arena;
    struct strbuf text;
    struct sql_params params;

    sql_start(arena, &text, &params);
    strbuf_str(&text, STR("select "));
    for (size_t i = 0; i < in->group_count; i++) {
        path_value(ctx, &in->groups[i], "t", &text, &params);
        strbuf_str(&text, STR(", "));
    }
    strbuf_str(&text, STR("count(*)"));
    for (size_t i = 0; i < in->metric_count; i++) {
        strbuf_printf(&text, ", %s(", metric_names[in->metrics[i].kind]);
        path_value(ctx, &in->metrics[i].path, "t", &text, &params);
        strbuf_char(&text, ')');
    }
    strbuf_printf(&text, " from {p}.%.*s t where true", STR_ARG(in->entity->table));
    (void)rls_where(ctx, in->entity, ACT_READ, "t", &text, &params);
    filter_where(ctx, in->filter, "t", &text, &params);
    put_numbers(&text, " group by ", in->group_count);
    put_numbers(&text, " order by ", in->group_count);
    strbuf_str(&text, STR(" limit "));
    strbuf_i64(&text, in->limit + 1);
    struct sql *sql = sql_dynamic(ctx, "records.aggregate", &text, params.count, SQL_MANY);
    sql->heavy = true;
    return records_db(
        ctx, in->entity, db_query(ctx->task, ctx->db, sql, params.items, params.count, ret_rows));
}

/* --- answer --- */

static void
write_metrics(struct jw *w, const struct grouping *in, const struct rows *rows, size_t row)
{
    for (size_t i = 0; i < in->metric_count; i++) {
        const struct metric *metric = &in->metrics[i];
        size_t column = in->group_count + 1 + i;
        if (i == 0 || in->metrics[i - 1].kind != metric->kind) {
            if (i > 0)
                jw_obj_end(w);
            jw_lit(w, metric_names[metric->kind]);
            jw_obj(w);
        }
        jw_key(w, metric->name);
        rows_json_value(w, rows, row, column);
    }
    if (in->metric_count > 0)
        jw_obj_end(w);
}

static void write_groups(struct jw *w, const struct grouping *in, const struct rows *rows)
{
    bool more = rows->count > (size_t)in->limit;
    size_t count = more ? (size_t)in->limit : rows->count;

    jw_obj(w);
    jw_lit(w, "items");
    jw_arr(w);
    for (size_t row = 0; row < count; row++) {
        jw_obj(w);
        for (size_t i = 0; i < in->group_count; i++) {
            jw_key(w, in->group_names[i]);
            columns_value(w, in->groups[i].field, rows, row, i);
        }
        if (in->count)
            JW_I64(w, "count", rows_i64(rows, row, in->group_count));
        write_metrics(w, in, rows, row);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    JW_BOOL(w, "has_next_page", more);
    jw_obj_end(w);
}

int records_aggregate(struct records_ctx *ctx,
                      const struct entity *entity,
                      const struct records_aggregate *query,
                      struct strbuf *out)
{
    struct grouping *in = ARENA_NEW(ctx->task->arena, in);
    struct rows rows;
    struct jw w;

    in->entity = entity;
    TRY(plan_groups(ctx, query, in));
    TRY(aggregate_read_rows(ctx, in, &rows));
    jw_init(&w, out);
    write_groups(&w, in, &rows);
    return records_fits(ctx, out);
}
