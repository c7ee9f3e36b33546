/* Counts, sums, averages and extremes in groups, as a URL requests them. */
#include "records/read/columns.h"
#include "records/read/grouping.h"
#include "records/records.h"
#include "records/rules/error.h"

struct aggregate {
    struct grouping grouping;
    bool count;
};

/* --- the query --- */

static void
read_groups(struct records_ctx *ctx, const struct records_aggregate *query, struct aggregate *in)
{
    struct str rest = query->group_by;

    while (rest.ptr != NULL) {
        struct str name = str_split(&rest, ',');
        bool full = in->grouping.key_count == GROUPING_KEYS;
        (void)grouping_add_key(ctx, &in->grouping, STR("group_by"), name, BUCKET_NONE);
        if (full)
            return;
    }
}

static void read_metrics(struct records_ctx *ctx,
                         const struct records_aggregate *query,
                         enum metric_kind kind,
                         struct aggregate *in)
{
    struct str parameter = str_from(grouping_function(kind));
    struct str rest = query->metrics[kind];

    while (rest.ptr != NULL) {
        struct str name = str_split(&rest, ',');
        bool full = in->grouping.metric_count == GROUPING_METRICS;
        (void)grouping_add_metric(ctx, &in->grouping, parameter, kind, name);
        if (full)
            return;
    }
}

/* In the answer a group is a member next to "count" and "sum", so their names must differ. */
static void check_names(struct records_ctx *ctx, const struct aggregate *in)
{
    const struct grouping *grouping = &in->grouping;

    for (size_t i = 0; i < grouping->key_count; i++) {
        struct str name = grouping->keys[i].name;
        bool taken = in->count && str_is(name, "count");
        for (size_t k = 0; k < grouping->metric_count; k++)
            taken = taken || str_is(name, grouping_function(grouping->metrics[k].kind));
        if (taken)
            records_finding_add(ctx,
                                STR("group_by"),
                                PROBLEM_INVALID_QUERY,
                                "names a field that has the name of a computed value");
    }
}

static int
plan_groups(struct records_ctx *ctx, const struct records_aggregate *query, struct aggregate *in)
{
    read_groups(ctx, query, in);
    for (int kind = 0; kind < METRIC_KINDS; kind++)
        read_metrics(ctx, query, (enum metric_kind)kind, in);
    if (query->count.ptr != NULL && !str_is(query->count, "*"))
        records_finding_add(ctx, STR("count"), PROBLEM_INVALID_QUERY, "must be *");
    in->count = query->count.ptr != NULL || in->grouping.metric_count == 0;
    check_names(ctx, in);
    in->grouping.limit = query->limit;
    if (query->limit < 1 || query->limit > AGGREGATE_GROUPS)
        records_finding_add(
            ctx, STR("limit"), PROBLEM_OUT_OF_RANGE, "must be between 1 and %d", AGGREGATE_GROUPS);
    TRY(records_fail_findings(ctx, PROBLEM_INVALID_QUERY));
    return filter_plan(ctx, in->grouping.entity, &query->filter, &in->grouping.filter);
}

/* --- answer --- */

static void
write_metrics(struct jw *w, const struct grouping *in, const struct rows *rows, size_t row)
{
    for (size_t i = 0; i < in->metric_count; i++) {
        const struct grouping_metric *metric = &in->metrics[i];
        size_t column = in->key_count + 1 + i;
        if (i == 0 || in->metrics[i - 1].kind != metric->kind) {
            if (i > 0)
                jw_obj_end(w);
            jw_lit(w, grouping_function(metric->kind));
            jw_obj(w);
        }
        jw_key(w, metric->name);
        rows_json_value(w, rows, row, column);
    }
    if (in->metric_count > 0)
        jw_obj_end(w);
}

static void write_groups(struct jw *w, const struct aggregate *in, const struct rows *rows)
{
    const struct grouping *grouping = &in->grouping;
    bool more = rows->count > (size_t)grouping->limit;
    size_t count = more ? (size_t)grouping->limit : rows->count;

    jw_obj(w);
    jw_lit(w, "items");
    jw_arr(w);
    for (size_t row = 0; row < count; row++) {
        jw_obj(w);
        for (size_t i = 0; i < grouping->key_count; i++) {
            jw_key(w, grouping->keys[i].name);
            columns_write_value(w, grouping->keys[i].path.field, rows, row, i);
        }
        if (in->count)
            JW_I64(w, "count", rows_i64(rows, row, grouping->key_count));
        write_metrics(w, grouping, rows, row);
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
    struct aggregate *in = ARENA_NEW(ctx->task->arena, in);
    struct rows rows;
    struct jw w;

    in->grouping.entity = entity;
    TRY(plan_groups(ctx, query, in));
    TRY(grouping_read(ctx, &in->grouping, &rows));
    jw_init(&w, out);
    write_groups(&w, in, &rows);
    return records_check_size(ctx, out);
}
