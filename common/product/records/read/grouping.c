/* Groups of records: checks of keys and metrics, and the statement. */
#include "records/read/grouping.h"

#include "records/records.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

static const char *const grouping_functions[METRIC_KINDS] = {"sum", "avg", "min", "max"};

const char *grouping_function(enum metric_kind kind)
{
    return grouping_functions[kind];
}

bool grouping_is_time(const struct model_field *field)
{
    return (model_type_info(field->type)->traits & TRAIT_CALENDAR) != 0;
}

/* --- plan --- */

static bool grouping_refuse(struct records_ctx *ctx, struct str parameter, const char *message)
{
    records_finding_add(ctx, parameter, PROBLEM_INVALID_QUERY, "%s", message);
    return false;
}

/* Finds a path with a single value; false with a finding. */
static bool grouping_find(struct records_ctx *ctx,
                          const struct grouping *in,
                          struct str parameter,
                          struct str name,
                          struct path *ret)
{
    if (!path_find(ctx, in->entity, name, ret)) {
        records_finding_add_unknown(ctx, parameter, name);
        return false;
    }
    return !path_is_many(ret) ||
           grouping_refuse(ctx, parameter, "relations to many records have no single value");
}

bool grouping_add_key(struct records_ctx *ctx,
                      struct grouping *in,
                      struct str parameter,
                      struct str name,
                      enum bucket_unit bucket)
{
    struct grouping_key key = {.name = name, .bucket = bucket};

    if (in->key_count == GROUPING_KEYS)
        return grouping_refuse(ctx, parameter, "names more than 3 fields");
    if (!grouping_find(ctx, in, parameter, name, &key.path))
        return false;
    if ((model_type_info(key.path.field->type)->fits & FITS_SET) == 0)
        return grouping_refuse(ctx, parameter, "cannot group by a json or secret field");
    if (bucket != BUCKET_NONE && !grouping_is_time(key.path.field))
        return grouping_refuse(ctx, parameter, "only date and datetime fields can have a bucket");
    for (size_t i = 0; i < in->key_count; i++)
        if (str_eq(in->keys[i].name, name))
            (void)grouping_refuse(ctx, parameter, "names a field twice");
    in->keys[in->key_count++] = key;
    return true;
}

static bool metric_fits(enum metric_kind kind, const struct model_field *field)
{
    const struct model_type_info *type = model_type_info(field->type);
    bool is_bound = kind == METRIC_MIN || kind == METRIC_MAX;

    return (type->traits & TRAIT_NUMBER) != 0 || (is_bound && (type->fits & FITS_ORDERED) != 0);
}

bool grouping_add_metric(struct records_ctx *ctx,
                         struct grouping *in,
                         struct str parameter,
                         enum metric_kind kind,
                         struct str name)
{
    struct grouping_metric metric = {.kind = kind, .name = name};

    if (in->metric_count == GROUPING_METRICS)
        return grouping_refuse(ctx, parameter, "there are more than 20 computed values");
    if (!grouping_find(ctx, in, parameter, name, &metric.path))
        return false;
    if (!metric_fits(kind, metric.path.field))
        (void)grouping_refuse(ctx, parameter, "cannot be computed for fields of this type");
    for (size_t i = 0; i < in->metric_count; i++)
        if (in->metrics[i].kind == kind && str_eq(in->metrics[i].name, name))
            (void)grouping_refuse(ctx, parameter, "names a field twice");
    in->metrics[in->metric_count++] = metric;
    return true;
}

bool grouping_add_window(struct records_ctx *ctx,
                         struct grouping *in,
                         struct str parameter,
                         struct str name)
{
    if (!grouping_find(ctx, in, parameter, name, &in->window_path))
        return false;
    if (!grouping_is_time(in->window_path.field))
        return grouping_refuse(ctx, parameter, "must be a date or a time");
    in->has_window = true;
    return true;
}

/* --- statement --- */

static void
grouping_put_zone(const struct grouping *in, struct strbuf *text, struct sql_params *params)
{
    strbuf_str(text, STR(" at time zone "));
    sql_bind(text, params, P_STR(in->timezone), "text");
}

static void grouping_put_key(const struct records_ctx *ctx,
                             const struct grouping *in,
                             const struct grouping_key *key,
                             struct strbuf *text,
                             struct sql_params *params)
{
    if (key->bucket == BUCKET_NONE) {
        path_value_collated(ctx, &key->path, "t", text, params);
        return;
    }
    strbuf_printf(text, "date_trunc('%s', ", bucket_name(key->bucket));
    path_value(ctx, &key->path, "t", text, params);
    if (key->path.field->type == TYPE_DATE)
        strbuf_str(text, STR("::timestamp"));
    else
        grouping_put_zone(in, text, params);
    strbuf_str(text, STR(")::date"));
}

/* "t.f_3 >= $1::date"; a time is compared with midnight in the time zone. */
static void grouping_put_bound(const struct records_ctx *ctx,
                               const struct grouping *in,
                               const char *op,
                               int64_t day,
                               struct strbuf *text,
                               struct sql_params *params)
{
    char *date = arena_alloc(ctx->task->arena, BUCKET_TEXT_BYTES);

    strbuf_str(text, STR(" and "));
    path_value(ctx, &in->window_path, "t", text, params);
    strbuf_printf(text, " %s ", op);
    sql_bind(text, params, P_CSTR(bucket_print(date, day)), "date");
    if (in->window_path.field->type == TYPE_DATE)
        return;
    strbuf_str(text, STR("::timestamp"));
    grouping_put_zone(in, text, params);
}

static void grouping_put_numbers(struct strbuf *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        strbuf_str(text, i > 0 ? STR(", ") : STR(""));
        strbuf_i64(text, (int64_t)i + 1);
    }
}

static void grouping_put_order(const struct grouping *in, struct strbuf *text)
{
    if (in->key_count == 0)
        return;
    strbuf_str(text, STR(" group by "));
    grouping_put_numbers(text, in->key_count);
    strbuf_str(text, STR(" order by "));
    if (in->order_column > 0)
        strbuf_printf(
            text, "%zu %s nulls last, ", in->order_column, in->descending ? "desc" : "asc");
    grouping_put_numbers(text, in->key_count);
}

void grouping_select(struct records_ctx *ctx,
                     const struct grouping *in,
                     struct strbuf *text,
                     struct sql_params *params)
{
    strbuf_str(text, STR("select "));
    for (size_t i = 0; i < in->key_count; i++) {
        grouping_put_key(ctx, in, &in->keys[i], text, params);
        strbuf_str(text, STR(", "));
    }
    strbuf_str(text, STR("count(*)"));
    for (size_t i = 0; i < in->metric_count; i++) {
        strbuf_printf(text, ", %s(", grouping_function(in->metrics[i].kind));
        path_value_collated(ctx, &in->metrics[i].path, "t", text, params);
        strbuf_char(text, ')');
    }
    strbuf_printf(text, " from {p}.%.*s t where true", STR_ARG(in->entity->table));
    (void)rls_put_where(ctx, in->entity, ACT_READ, "t", text, params);
    filter_put_where(ctx, in->filter, "t", text, params);
    if (in->has_window) {
        grouping_put_bound(ctx, in, ">=", in->window.from, text, params);
        grouping_put_bound(ctx, in, "<", in->window.to, text, params);
    }
    grouping_put_order(in, text);
    strbuf_str(text, STR(" limit "));
    strbuf_i64(text, in->limit + 1);
}

int grouping_read(struct records_ctx *ctx, const struct grouping *in, struct rows *ret_rows)
{
    struct strbuf text;
    struct sql_params params;

    sql_start(ctx->task->arena, &text, &params);
    grouping_select(ctx, in, &text, &params);
    struct sql *sql = sql_dynamic(ctx, "records.aggregate", &text, params.count, SQL_MANY);
    sql->heavy = true;
    return records_db_result(
        ctx, in->entity, db_query(ctx->task, ctx->db, sql, params.items, params.count, ret_rows));
}
