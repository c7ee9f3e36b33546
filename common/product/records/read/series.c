/* Series of a chart. */
#include "records/series.h"

#include "records/pick.h"
#include "records/read/columns.h"
#include "records/read/grouping.h"
#include "records/rules/error.h"

const char *const series_functions[] = {"count", "sum", "avg", "min", "max", NULL};

struct series_plan {
    struct grouping grouping;
    struct series_column columns[SERIES_GROUPS + SERIES_VALUES];
    size_t column_count;
};

/* --- columns --- */

static const char *value_type(enum series_function function, const struct model_field *field)
{
    if (function == SERIES_COUNT)
        return model_type_info(TYPE_INTEGER)->name;
    if (function == SERIES_AVG && field->type == TYPE_INTEGER)
        return model_type_info(TYPE_DECIMAL)->name;
    return model_type_info(field->type)->name;
}

static void add_group_column(struct series_plan *plan)
{
    size_t at = plan->grouping.key_count - 1;
    const struct grouping_key *key = &plan->grouping.keys[at];
    enum model_type type = key->bucket != BUCKET_NONE ? TYPE_DATE : key->path.field->type;

    plan->columns[plan->column_count++] = (struct series_column){
        .name = key->name,
        .type = model_type_info(type)->name,
        .field = key->path.field,
        .bucket = key->bucket,
        .at = at,
    };
}

static struct str value_name(struct arena *arena, const struct series_value *value)
{
    if (value->function == SERIES_COUNT)
        return STR("count");
    return arena_printf(arena, "%s(%.*s)", series_functions[value->function], STR_ARG(value->path));
}

static void
add_value_column(struct arena *arena, struct series_plan *plan, const struct series_value *value)
{
    const struct grouping *grouping = &plan->grouping;
    bool counts = value->function == SERIES_COUNT;
    size_t last = grouping->metric_count - 1;
    const struct model_field *field = counts ? NULL : grouping->metrics[last].path.field;

    plan->columns[plan->column_count++] = (struct series_column){
        .name = value_name(arena, value),
        .is_value = true,
        .type = value_type(value->function, field),
        .field = field,
        .at = grouping->key_count + (counts ? 0 : 1 + last),
    };
}

size_t series_columns(const struct series_plan *plan, const struct series_column **ret_columns)
{
    *ret_columns = plan->columns;
    return plan->column_count;
}

/* --- plan --- */

static void
plan_keys(struct records_ctx *ctx, const struct records_series *query, struct series_plan *plan)
{
    size_t buckets = 0;

    for (size_t i = 0; i < query->group_count; i++) {
        const struct series_group *group = &query->groups[i];
        struct str name = arena_printf(ctx->task->arena, "group_by[%zu].field", i);
        if (grouping_add_key(ctx, &plan->grouping, name, group->path, group->bucket))
            add_group_column(plan);
        buckets += group->bucket != BUCKET_NONE;
    }
    if (buckets > 1)
        records_finding_add(
            ctx, STR("group_by"), PROBLEM_INVALID_QUERY, "only one group can have a bucket");
}

static bool series_is_counted(const struct series_plan *plan)
{
    for (size_t i = 0; i < plan->column_count; i++)
        if (plan->columns[i].is_value && plan->columns[i].field == NULL)
            return true;
    return false;
}

static void
plan_values(struct records_ctx *ctx, const struct records_series *query, struct series_plan *plan)
{
    static const enum metric_kind kinds[SERIES_FUNCTIONS] = {
        [SERIES_SUM] = METRIC_SUM,
        [SERIES_AVG] = METRIC_AVG,
        [SERIES_MIN] = METRIC_MIN,
        [SERIES_MAX] = METRIC_MAX,
    };

    for (size_t i = 0; i < query->value_count; i++) {
        const struct series_value *value = &query->values[i];
        struct str name = arena_printf(ctx->task->arena, "aggregates[%zu].field", i);
        bool counts = value->function == SERIES_COUNT;
        if (counts && series_is_counted(plan))
            records_finding_add(
                ctx, name, PROBLEM_INVALID_QUERY, "only one aggregate can be the count");
        else if (counts || grouping_add_metric(
                               ctx, &plan->grouping, name, kinds[value->function], value->path))
            add_value_column(ctx->task->arena, plan, value);
    }
}

static void
plan_order(struct records_ctx *ctx, const struct records_series *query, struct series_plan *plan)
{
    struct str name = query->sort;

    if (name.len == 0)
        return;
    plan->grouping.descending = name.ptr[0] == '-';
    if (plan->grouping.descending)
        name = (struct str){name.ptr + 1, name.len - 1};
    for (size_t i = 0; i < plan->column_count; i++)
        if (str_eq(plan->columns[i].name, name))
            plan->grouping.order_column = plan->columns[i].at + 1;
    if (plan->grouping.order_column == 0)
        records_finding_add(
            ctx, STR("sort"), PROBLEM_INVALID_QUERY, "must name one of the groups or aggregates");
}

int series_plan(struct records_ctx *ctx,
                const struct entity *entity,
                const struct records_series *query,
                struct series_plan **ret_plan)
{
    struct series_plan *plan = ARENA_NEW(ctx->task->arena, plan);

    plan->grouping.entity = entity;
    plan->grouping.timezone = query->timezone;
    plan->grouping.limit = query->limit;
    plan_keys(ctx, query, plan);
    plan_values(ctx, query, plan);
    if (query->window_path.ptr != NULL &&
        grouping_add_window(ctx, &plan->grouping, STR("period.field"), query->window_path))
        plan->grouping.window = query->window;
    if (ctx->error.fields.count == 0)
        plan_order(ctx, query, plan);
    TRY(records_fail_findings(ctx, PROBLEM_VALIDATION_FAILED));
    TRY(filter_plan(ctx, entity, &query->filter, &plan->grouping.filter));
    *ret_plan = plan;
    return 0;
}

/* --- rows --- */

int series_read(struct records_ctx *ctx,
                const struct series_plan *plan,
                const struct bucket_window *window,
                struct rows *ret_rows)
{
    struct grouping *in = ARENA_NEW(ctx->task->arena, in);

    *in = plan->grouping;
    if (window != NULL)
        in->window = *window;
    return grouping_read(ctx, in, ret_rows);
}

size_t series_select(struct records_ctx *ctx,
                     const struct series_plan *plan,
                     struct strbuf *sql,
                     struct sql_params *params)
{
    grouping_select(ctx, &plan->grouping, sql, params);
    return plan->grouping.key_count + 1 + plan->grouping.metric_count;
}

void series_json(struct jw *w,
                 const struct series_column *column,
                 const struct rows *rows,
                 size_t row)
{
    if (column->is_value || column->bucket != BUCKET_NONE)
        rows_json_value(w, rows, row, column->at);
    else
        columns_write_value(w, column->field, rows, row, column->at);
}

/* --- sources --- */

/* Iterates over all paths of a query; *at is 0 before the first call. */
static bool next_path(const struct records_series *query, size_t *at, struct str *ret_path)
{
    size_t i = (*at)++;

    if (i < query->group_count) {
        *ret_path = query->groups[i].path;
        return true;
    }
    i -= query->group_count;
    if (i < query->value_count) {
        *ret_path = query->values[i].path;
        return true;
    }
    i -= query->value_count;
    if (i < query->filter.item_count) {
        *ret_path = query->filter.items[i].field;
        return true;
    }
    *ret_path = query->window_path;
    return i == query->filter.item_count;
}

struct str series_forbidden_path(const struct records_ctx *ctx,
                                 const struct entity *entity,
                                 const struct records_series *query)
{
    struct path found;
    struct str path;

    for (size_t at = 0; next_path(query, &at, &path);)
        if (path.ptr != NULL && !path_find(ctx, entity, path, &found))
            return path;
    return STR_NONE;
}

bool series_is_readable(const struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct records_series *query)
{
    return records_can_read(ctx, entity) && series_forbidden_path(ctx, entity, query).ptr == NULL;
}

static void series_add_field(struct series_sources *sources, const struct model_field *field)
{
    if (field->system)
        return;
    for (size_t i = 0; i < sources->field_count; i++)
        if (sources->field_ids[i] == field->id)
            return;
    if (sources->field_count == SERIES_FIELDS)
        sources->is_complete = false;
    else
        sources->field_ids[sources->field_count++] = field->id;
}

static void series_add_source(struct series_sources *sources, const struct entity *entity)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->entities[i] == entity)
            return;
    if (sources->count == SERIES_SOURCES)
        sources->is_complete = false;
    else
        sources->entities[sources->count++] = entity;
}

void series_sources(const struct records_ctx *ctx,
                    const struct entity *entity,
                    const struct records_series *query,
                    struct series_sources *ret_sources)
{
    struct path found;
    struct str path;

    *ret_sources = (struct series_sources){.is_complete = true};
    series_add_source(ret_sources, entity);
    for (size_t at = 0; next_path(query, &at, &path);) {
        if (path.ptr == NULL || !path_find(ctx, entity, path, &found))
            continue;
        for (size_t i = 0; i < found.count; i++) {
            series_add_source(ret_sources, found.steps[i]->target);
            series_add_field(ret_sources, found.steps[i]);
        }
        series_add_field(ret_sources, found.field);
        if (found.field->type == TYPE_RELATION && found.field->target != NULL)
            series_add_source(ret_sources, found.field->target);
    }
}

static void series_put_table(struct strbuf *text, struct str table)
{
    strbuf_printf(text, "'{p}.%.*s'::regclass, ", STR_ARG(table));
}

int series_mark(struct records_ctx *ctx,
                const struct series_sources *sources,
                bool ruled,
                struct series_mark *ret_mark)
{
    struct strbuf text;
    struct sql_params params;
    struct rows rows;

    sql_start(ctx->task->arena, &text, &params);
    strbuf_str(&text,
               STR("select (extract(epoch from pg_stat_get_bgwriter_stat_reset_time()) * 1000)"
                   "::bigint, sum(pg_stat_get_tuples_inserted(o) + pg_stat_get_tuples_updated(o)"
                   " + pg_stat_get_tuples_deleted(o))::bigint from unnest(array["));
    for (size_t i = 0; i < sources->count; i++)
        series_put_table(&text, sources->entities[i]->table);
    if (ruled) {
        series_put_table(&text, STR("record_grants"));
        series_put_table(&text, STR("group_members"));
    }
    text.len -= 2; /* the last ", " */
    strbuf_str(&text, STR("]::oid[]) as o"));
    struct sql *sql = sql_dynamic(ctx, "records.mark", &text, params.count, SQL_ONE);
    sql->narrow = true;
    TRY(records_db_result(ctx,
                          sources->entities[0],
                          db_query(ctx->task, ctx->db, sql, params.items, params.count, &rows)));
    ret_mark->since = rows_i64(&rows, 0, 0);
    ret_mark->changes = rows_i64(&rows, 0, 1);
    return 0;
}
