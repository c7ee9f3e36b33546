/* Definitions of charts. Request bodies and stored definitions are read by the same code. */
#include "areas/dashboards/dashboards.h"
#include "base/clock.h"
#include "base/timezone.h"
#include "items/items_query.h"

#define PATH_MAX_CHARS 250
#define ZONE_MAX_CHARS 64

static const char *const chart_kinds[] = {"metric", "bar", "line", "area", "pie", "table", NULL};

const char *chart_kind_name(enum chart_kind kind)
{
    return chart_kinds[kind];
}

struct aggregate_in {
    struct in_str function, field;
};
struct group_in {
    struct in_str field, bucket;
};
struct period_in {
    struct in_str field, unit, until;
    struct in_i64 count;
};
struct chart_in {
    struct in_str name, description, kind, entity, view, sort, timezone;
    struct in_list aggregates, group_by; /* of struct aggregate_in, struct group_in */
    struct in_json filter;
    struct in_i64 limit;
    struct in_obj period; /* struct period_in */
    struct in_bool compare;
};

static const struct field aggregate_fields[] = {
    {.name = "function",
     FIELD_AT(struct aggregate_in, function),
     .type = FIELD_STR,
     .required = true,
     .values = series_functions,
     .example = "\"sum\""},
    {.name = "field",
     FIELD_AT(struct aggregate_in, field),
     .type = FIELD_STR,
     .nullable = true,
     .max = PATH_MAX_CHARS,
     .doc = "Required by all functions except count; may follow relations, as in filters",
     .example = "\"total\""},
};
const struct schema chart_aggregate_schema =
    SCHEMA("ChartAggregate", struct aggregate_in, aggregate_fields);

static const struct field group_fields[] = {
    {.name = "field",
     FIELD_AT(struct group_in, field),
     .type = FIELD_STR,
     .required = true,
     .max = PATH_MAX_CHARS,
     .example = "\"created_at\""},
    {.name = "bucket",
     FIELD_AT(struct group_in, bucket),
     .type = FIELD_STR,
     .nullable = true,
     .values = bucket_names,
     .doc = "For a date or time: groups its values by this unit; weeks begin on Mondays",
     .example = "\"month\""},
};
const struct schema chart_group_schema = SCHEMA("ChartGroup", struct group_in, group_fields);

static const struct field period_fields[] = {
    {.name = "field",
     FIELD_AT(struct period_in, field),
     .type = FIELD_STR,
     .required = true,
     .max = PATH_MAX_CHARS,
     .doc = "A field with dates or times",
     .example = "\"created_at\""},
    {.name = "unit",
     FIELD_AT(struct period_in, unit),
     .type = FIELD_STR,
     .required = true,
     .values = bucket_names,
     .example = "\"month\""},
    {.name = "count",
     FIELD_AT(struct period_in, count),
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = CHART_PERIODS_MAX,
     .doc = "Number of whole units up to the unit of until; 1 when left out",
     .example = "12"},
    {.name = "until",
     FIELD_AT(struct period_in, until),
     .type = FIELD_TIME,
     .nullable = true,
     .doc = "A time in the last unit; now when left out"},
};
static const struct schema period_schema = SCHEMA("ChartPeriod", struct period_in, period_fields);

/* clang-format off */
#define CHART_MEMBERS(named, new)                                                                  \
    {.name = "name", FIELD_AT(struct chart_in, name), .type = FIELD_STR, .required = (named),      \
     .min = 1, .max = 100, .example = "\"Revenue by month\""},                                     \
    {.name = "description", FIELD_AT(struct chart_in, description), .type = FIELD_STR,             \
     .nullable = true, .max = 1000},                                                               \
    {.name = "kind", FIELD_AT(struct chart_in, kind), .type = FIELD_STR, .required = (new),        \
     .values = chart_kinds, .example = "\"bar\""},                                                 \
    {.name = "entity", FIELD_AT(struct chart_in, entity), .type = FIELD_STR, .nullable = true,     \
     .max = 48, .doc = "Entity whose records are shown", .example = "\"orders\""},                 \
    {.name = "view", FIELD_AT(struct chart_in, view), .type = FIELD_STR, .nullable = true,         \
     .max = 48, .doc = "Instead of entity: materialised view whose rows are shown"},               \
    {.name = "aggregates", FIELD_AT(struct chart_in, aggregates), .type = FIELD_LIST,              \
     .required = (new), .min = 1, .max = CHART_VALUES_MAX, .sub = &chart_aggregate_schema,         \
     .example = "[{\"function\": \"sum\", \"field\": \"total\"}]"},                                \
    {.name = "group_by", FIELD_AT(struct chart_in, group_by), .type = FIELD_LIST,                  \
     .nullable = true, .max = CHART_GROUPS_MAX, .sub = &chart_group_schema,                        \
     .doc = "None for a metric, one for a pie; one group may have a bucket",                       \
     .example = "[{\"field\": \"created_at\", \"bucket\": \"month\"}]"},                           \
    {.name = "filter", FIELD_AT(struct chart_in, filter), .type = FIELD_MAP, .nullable = true,     \
     .doc = "A filter object as in lists, such as {\"status\":{\"eq\":\"paid\"}}"},                \
    {.name = "sort", FIELD_AT(struct chart_in, sort), .type = FIELD_STR, .nullable = true,         \
     .max = PATH_MAX_CHARS,                                                                        \
     .doc = "A group, count, or an aggregate such as sum(total); "                                 \
            "a leading '-' reverses. By the groups when left out",                                 \
     .example = "\"-sum(total)\""},                                                                \
    {.name = "limit", FIELD_AT(struct chart_in, limit), .type = FIELD_I64, .nullable = true,       \
     .has_min = true, .min = 1, .has_max = true, .max = AGGREGATE_GROUPS,                          \
     .doc = "Maximum number of rows; 100 when left out"},                                          \
    {.name = "timezone", FIELD_AT(struct chart_in, timezone), .type = FIELD_STR, .nullable = true, \
     .max = ZONE_MAX_CHARS, .doc = "Time zone of buckets and periods; UTC when left out",          \
     .example = "\"Europe/Berlin\""},                                                              \
    {.name = "period", FIELD_AT(struct chart_in, period), .type = FIELD_OBJ, .nullable = true,     \
     .sub = &period_schema, .doc = "Only records of this period"},                                 \
    {.name = "compare", FIELD_AT(struct chart_in, compare), .type = FIELD_BOOL,                    \
     .doc = "Whether the data also have the rows of the preceding period"}
/* clang-format on */

static const struct field chart_create_fields[] = {CHART_MEMBERS(true, true)};
static const struct field chart_update_fields[] = {CHART_MEMBERS(false, false)};
static const struct field chart_preview_fields[] = {CHART_MEMBERS(false, true)};
const struct schema chart_create_schema =
    SCHEMA("ChartCreate", struct chart_in, chart_create_fields);
const struct schema chart_update_schema =
    SCHEMA("ChartUpdate", struct chart_in, chart_update_fields);
const struct schema chart_preview_schema =
    SCHEMA("ChartPreview", struct chart_in, chart_preview_fields);

static const struct field chart_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "entity", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "view", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "kind", .type = FIELD_STR, .required = true, .values = chart_kinds},
    {.name = "aggregates",
     .type = FIELD_LIST,
     .required = true,
     .nullable = true,
     .sub = &chart_aggregate_schema,
     .doc = "null, like group_by, filter, sort and period, when the chart names fields that the "
            "caller may not read"},
    {.name = "group_by",
     .type = FIELD_LIST,
     .required = true,
     .nullable = true,
     .sub = &chart_group_schema},
    {.name = "filter", .type = FIELD_MAP, .required = true, .nullable = true},
    {.name = "sort", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "limit", .type = FIELD_I64, .required = true},
    {.name = "timezone", .type = FIELD_STR, .required = true},
    {.name = "period",
     .type = FIELD_OBJ,
     .required = true,
     .nullable = true,
     .sub = &period_schema},
    {.name = "compare", .type = FIELD_BOOL, .required = true},
    {.name = "version", .type = FIELD_I64, .required = true, .doc = "Raised by every change"},
    {.name = "created_by", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
const struct schema chart_out_schema = SCHEMA_OUT("Chart", chart_out_fields);

/* --- reading a definition --- */

static int chart_fail_field(struct req *r, const char *field, const char *message)
{
    return fail_field(r, field, PROBLEM_VALIDATION_FAILED, "%s", message);
}

int chart_read_values(struct req *r, const struct in_list *in, struct records_series *series)
{
    const struct aggregate_in *items = in->items;

    for (size_t i = 0; i < in->count; i++) {
        struct series_value *value = &series->values[series->value_count++];
        while (!str_is(items[i].function.value, series_functions[value->function]))
            value->function++;
        value->path = items[i].field.value.len ? items[i].field.value : STR_NONE;
        if ((value->function == SERIES_COUNT) == (value->path.ptr != NULL)) {
            struct str name = arena_printf(r->task.arena, "aggregates[%zu].field", i);
            return chart_fail_field(r,
                                    name.ptr,
                                    value->path.ptr ? "must be left out for count"
                                                    : "is required by this function");
        }
    }
    return 0;
}

void chart_read_groups(const struct in_list *in, struct records_series *series)
{
    const struct group_in *items = in->items;

    for (size_t i = 0; i < in->count; i++)
        series->groups[series->group_count++] = (struct series_group){
            .path = items[i].field.value,
            .bucket = bucket_find(items[i].bucket.value),
        };
}

static int chart_read_period(struct req *r, const struct chart_in *in, struct chart *chart)
{
    const struct period_in *period = in->period.value;

    chart->compare = in->compare.value;
    if (!period)
        return chart->compare ? chart_fail_field(r, "compare", "needs a period") : 0;
    chart->series.window_path = period->field.value;
    chart->period_unit = bucket_find(period->unit.value);
    chart->period_count = period->count.set ? period->count.value : 1;
    if (period->until.value.len && !clock_parse(period->until.value, &chart->until_ms))
        return chart_fail_field(r, "period.until", "is not a valid time");
    return 0;
}

/* Checks that the kind of chart can show the number of groups and aggregates. */
static int chart_check_shape(struct req *r, const struct chart *chart)
{
    size_t groups = chart->series.group_count;
    size_t values = chart->series.value_count;

    switch (chart->kind) {
    case CHART_METRIC:
        return groups > 0 ? chart_fail_field(r, "group_by", "must be empty for a metric") : 0;
    case CHART_PIE:
        if (groups != 1)
            return chart_fail_field(r, "group_by", "must have exactly one entry for a pie");
        return values != 1
                   ? chart_fail_field(r, "aggregates", "must have exactly one entry for a pie")
                   : 0;
    case CHART_BAR:
    case CHART_LINE:
    case CHART_AREA:
        if (groups == 0)
            return chart_fail_field(r, "group_by", "must have one or two entries");
        return groups == 2 && values != 1
                   ? chart_fail_field(
                         r, "aggregates", "must have exactly one entry with two groups")
                   : 0;
    case CHART_TABLE:
    case CHART_KINDS:
        break;
    }
    return 0;
}

void chart_print_lists(struct jw *w, const struct records_series *series)
{
    jw_lit(w, "aggregates");
    jw_arr(w);
    for (size_t i = 0; i < series->value_count; i++) {
        jw_obj(w);
        JW_CSTR(w, "function", series_functions[series->values[i].function]);
        JW_STR_OR_NULL(w, "field", series->values[i].path);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_lit(w, "group_by");
    jw_arr(w);
    for (size_t i = 0; i < series->group_count; i++) {
        enum bucket_unit bucket = series->groups[i].bucket;
        jw_obj(w);
        JW_STR(w, "field", series->groups[i].path);
        JW_CSTR(w, "bucket", bucket != BUCKET_NONE ? bucket_name(bucket) : NULL);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

static void chart_print_period(struct jw *w, const struct chart *chart)
{
    jw_lit(w, "period");
    if (chart->period_unit == BUCKET_NONE) {
        jw_null(w);
        return;
    }
    jw_obj(w);
    JW_STR(w, "field", chart->series.window_path);
    JW_CSTR(w, "unit", bucket_name(chart->period_unit));
    JW_I64(w, "count", chart->period_count);
    jw_lit(w, "until");
    if (chart->until_ms)
        jw_time(w, chart->until_ms);
    else
        jw_null(w);
    jw_obj_end(w);
}

/* Prints all members that determine the data, in a fixed order: the cache key hashes the text. */
static struct str
chart_print(struct arena *arena, const struct chart *chart, const json_t *filter, size_t max)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, arena, max);
    jw_init(&w, &text);
    jw_obj(&w);
    JW_CSTR(&w, "kind", chart_kinds[chart->kind]);
    chart_print_lists(&w, &chart->series);
    jw_lit(&w, "filter");
    if (json_is_object(filter))
        jw_json(&w, filter);
    else
        jw_null(&w);
    JW_STR_OR_NULL(&w, "sort", chart->series.sort);
    JW_I64(&w, "limit", chart->series.limit);
    JW_STR(&w, "timezone", chart->series.timezone);
    chart_print_period(&w, chart);
    JW_BOOL(&w, "compare", chart->compare);
    jw_obj_end(&w);
    return text.overflow ? STR_NONE : strbuf_view(&text);
}

/* Finds the source: an entity, or the name of a view. An entity that this process does not know may
 * be new: may_be_stale makes the handler run again with the current model. */
static int chart_find_entity(struct req *r, const struct chart_in *in, struct chart *chart)
{
    struct str name = in->entity.value;

    if ((name.len > 0) == (in->view.value.len > 0))
        return chart_fail_field(r, "entity", "is required, or view in place of it, and not both");
    if (in->view.value.len) {
        chart->view = in->view.value;
        return 0;
    }
    chart->entity = model_entity(r->scope->model, name);
    r->scope->may_be_stale = !chart->entity && !r->scope->is_rechecked;
    if (!chart->entity)
        return chart_fail_field(r, "entity", "there is no such entity");
    chart->entity_id = chart->entity->id;
    return 0;
}

static int chart_read_members(struct req *r, const struct chart_in *in, struct chart *chart)
{
    chart->name = in->name.value;
    chart->description = in->description.value.len ? in->description.value : STR_NONE;
    while (!str_is(in->kind.value, chart_kinds[chart->kind]))
        chart->kind++;
    TRY(chart_find_entity(r, in, chart));
    TRY(chart_read_values(r, &in->aggregates, &chart->series));
    chart_read_groups(&in->group_by, &chart->series);
    TRY(chart_read_period(r, in, chart));
    TRY(chart_check_shape(r, chart));
    chart->series.sort = in->sort.value.len ? in->sort.value : STR_NONE;
    chart->series.limit = in->limit.value ? in->limit.value : CHART_GROUPS;
    chart->series.timezone = in->timezone.value.len ? in->timezone.value : STR("UTC");
    if (!timezone_find(chart->series.timezone))
        return chart_fail_field(r, "timezone", "there is no such time zone");
    if (json_object_size(in->filter.value))
        TRY(items_filter_body(r, in->filter.value, &chart->series.filter));
    chart->text = chart_print(r->task.arena, chart, in->filter.value, req_json_max(r));
    return chart->text.ptr ? 0 : chart_fail_field(r, "filter", "is too long");
}

static int chart_decode(struct req *r,
                        const struct schema *schema,
                        const json_t *body,
                        struct chart_in *ret_in)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    return schema_decode(r->task.arena, schema, body, ret_in, errors) ? 0 : fail_fields(r, errors);
}

int chart_read(struct req *r, const struct schema *schema, const json_t *body, struct chart *ret)
{
    struct chart_in in;

    TRY(chart_decode(r, schema, body, &in));
    *ret = (struct chart){.kind = CHART_METRIC};
    return chart_read_members(r, &in, ret);
}

int chart_read_change(struct req *r, const json_t *body, bool *ret_redefined)
{
    struct chart_in in;

    TRY(chart_decode(r, &chart_update_schema, body, &in));
    *ret_redefined = json_object_size(body) > (size_t)in.name.set + (size_t)in.description.set;
    return 0;
}

int chart_find_source(struct req *r,
                      int64_t entity_id,
                      struct str view,
                      struct chart_source *ret_source)
{
    const struct entity *entity = entity_id ? model_entity_by_id(r->scope->model, entity_id) : NULL;

    r->scope->may_be_stale = !view.len && !entity && !r->scope->is_rechecked;
    if (!view.len && !entity)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    *ret_source = (struct chart_source){entity, view};
    return 0;
}

json_t *chart_stored_body(struct req *r,
                          struct str name,
                          struct str description,
                          const struct chart_source *source,
                          struct str definition,
                          const json_t *body)
{
    struct str shown = source->entity ? source->entity->name : source->view;
    struct jr_error error;
    json_t *whole;

    if (jr_parse_stored(r->task.arena, definition, &whole, &error) != 0 || !json_is_object(whole))
        return NULL;
    (void)json_object_set_new(whole, "name", json_stringn(name.ptr, name.len));
    if (description.ptr)
        (void)json_object_set_new(
            whole, "description", json_stringn(description.ptr, description.len));
    (void)json_object_set_new(
        whole, source->entity ? "entity" : "view", json_stringn(shown.ptr, shown.len));
    if (body)
        (void)json_object_update(whole, (json_t *)body);
    return whole;
}
