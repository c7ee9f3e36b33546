/* Data of charts as the caller may see them, computed now or taken from the cache. */
#include <errno.h>
#include <string.h>

#include "areas/dashboards/chart_cache.h"
#include "areas/dashboards/dashboards.h"
#include "base/clock.h"
#include "charts_sql.h"
#include "items/items.h"
#include "loop/shares.h"
#include "records/pick.h"
#include "stages/refusals.h"
#include "stages/stages.h"

#define READS_MAX     8 /* concurrent computations in a process */
#define READS_PROJECT 2
#define READS_WAITING 64
#define DATA_BYTES    ((size_t)16 << 20)

/* --- response --- */

static const char *const column_roles[] = {"group", "value", NULL};

static const struct field column_fields[] = {
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"sum(total)\""},
    {.name = "role", .type = FIELD_STR, .required = true, .values = column_roles},
    {.name = "type", .type = FIELD_STR, .required = true, .example = "\"float\""},
    {.name = "bucket",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .values = bucket_names,
     .doc = "Unit by which the values are grouped: each value is the first day of such a unit"},
};
static const struct schema column_schema = SCHEMA_OUT("ChartColumn", column_fields);

static const struct field span_fields[] = {
    {.name = "from", .type = FIELD_STR, .required = true, .format = "date"},
    {.name = "to",
     .type = FIELD_STR,
     .required = true,
     .format = "date",
     .doc = "The first day after the period"},
};
static const struct schema span_schema = SCHEMA_OUT("ChartSpan", span_fields);

static const struct field chart_data_fields[] = {
    {.name = "kind", .type = FIELD_STR, .required = true},
    {.name = "columns", .type = FIELD_LIST, .required = true, .sub = &column_schema},
    {.name = "rows",
     .type = FIELD_JSON,
     .required = true,
     .doc = "One array of values per row, in the order of the columns",
     .example = "[[\"2026-01-01\", 12.5]]"},
    {.name = "has_next_page",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "Whether the chart has more rows than its limit"},
    {.name = "period", .type = FIELD_OBJ, .required = true, .nullable = true, .sub = &span_schema},
    {.name = "previous_period",
     .type = FIELD_OBJ,
     .required = true,
     .nullable = true,
     .sub = &span_schema},
    {.name = "previous",
     .type = FIELD_JSON,
     .required = true,
     .doc = "Rows of the preceding period when the chart compares; else null"},
    {.name = "as_of", .type = FIELD_TIME, .required = true, .doc = "When the data were computed"},
};
const struct schema chart_data_schema = SCHEMA_OUT("ChartData", chart_data_fields);

/* One computation of a chart's data. */
struct chart_reading {
    struct req *r;
    const struct chart *chart;
    struct records_ctx *ctx;
    struct series_plan *plan;
    int64_t today; /* only set with a period */
    struct bucket_window period, before;
    struct rows rows, previous;
    int64_t cost_ms; /* 0 = the data came from the cache */
};

static void chart_write_columns(struct jw *w, const struct series_plan *plan)
{
    const struct series_column *columns;
    size_t count = series_columns(plan, &columns);

    jw_lit(w, "columns");
    jw_arr(w);
    for (size_t i = 0; i < count; i++) {
        enum bucket_unit bucket = columns[i].bucket;
        jw_obj(w);
        JW_STR(w, "name", columns[i].name);
        JW_CSTR(w, "role", column_roles[columns[i].is_value]);
        JW_CSTR(w, "type", columns[i].type);
        JW_CSTR(w, "bucket", bucket != BUCKET_NONE ? bucket_name(bucket) : NULL);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

static void
chart_write_row(struct jw *w, const struct chart_reading *in, const struct rows *rows, size_t row)
{
    const struct series_column *columns;
    size_t count = series_columns(in->plan, &columns);

    jw_arr(w);
    for (size_t i = 0; i < count; i++)
        series_json(w, &columns[i], rows, row);
    jw_arr_end(w);
}

/* Writes the row of a span without records: 0 for a count, null for all other functions. */
static void chart_write_empty(struct jw *w, const struct chart_reading *in, int64_t day)
{
    const struct series_column *columns;
    size_t count = series_columns(in->plan, &columns);
    char date[BUCKET_TEXT_BYTES];

    jw_arr(w);
    jw_cstr(w, bucket_print(date, day));
    for (size_t i = 1; i < count; i++) {
        if (columns[i].field)
            jw_null(w);
        else
            jw_i64(w, 0);
    }
    jw_arr_end(w);
}

/* Finds the days between which spans are shown even without records. Returns false when only spans
 * with records are shown. */
static bool chart_find_spans(const struct chart_reading *in,
                             const struct rows *rows,
                             const struct bucket_window *window,
                             struct bucket_window *ret_spans)
{
    const struct records_series *series = &in->chart->series;
    enum bucket_unit unit = series->groups[0].bucket;
    size_t dated = rows->count;

    if (series->group_count != 1 || unit == BUCKET_NONE || series->sort.ptr)
        return false;
    while (dated > 0 && rows_null(rows, dated - 1, 0))
        dated--;
    if (window && str_eq(series->window_path, series->groups[0].path)) {
        int64_t last = window->to < in->today + 1 ? window->to : in->today + 1;
        *ret_spans = (struct bucket_window){bucket_start(unit, window->from), last};
    } else if (dated == 0 || !bucket_parse(rows_str(rows, 0, 0), &ret_spans->from) ||
               !bucket_parse(rows_str(rows, dated - 1, 0), &ret_spans->to)) {
        return false;
    }
    return bucket_step(unit, ret_spans->from, series->limit) > ret_spans->to;
}

AWAITS static int chart_write_rows(struct jw *w,
                                   const struct chart_reading *in,
                                   const struct rows *rows,
                                   const struct bucket_window *window)
{
    enum bucket_unit unit = in->chart->series.groups[0].bucket;
    size_t limit = (size_t)in->chart->series.limit;
    size_t count = rows->count < limit ? rows->count : limit;
    struct bucket_window spans = {0};
    bool fills = chart_find_spans(in, rows, window, &spans);
    int64_t next = spans.from;
    int64_t day;

    jw_arr(w);
    for (size_t row = 0; row < count; row++) {
        bool dated = fills && bucket_parse(rows_str(rows, row, 0), &day);
        for (; dated && next < day; next = bucket_step(unit, next, 1))
            chart_write_empty(w, in, next);
        if (dated)
            next = bucket_step(unit, next, 1);
        chart_write_row(w, in, rows, row);
        TRY(task_yield_if_due(&in->r->task));
    }
    for (; fills && window && next < spans.to; next = bucket_step(unit, next, 1))
        chart_write_empty(w, in, next);
    jw_arr_end(w);
    return 0;
}

static void chart_write_span(struct jw *w, const char *key, const struct bucket_window *window)
{
    char date[BUCKET_TEXT_BYTES];

    jw_lit(w, key);
    if (!window) {
        jw_null(w);
        return;
    }
    jw_obj(w);
    JW_CSTR(w, "from", bucket_print(date, window->from));
    JW_CSTR(w, "to", bucket_print(date, window->to));
    jw_obj_end(w);
}

AWAITS static int
chart_write_data(const struct chart_reading *in, int64_t as_of_ms, struct strbuf *out)
{
    const struct chart *chart = in->chart;
    const struct bucket_window *period = chart->period_unit != BUCKET_NONE ? &in->period : NULL;
    struct jw w;

    jw_init(&w, out);
    jw_obj(&w);
    JW_CSTR(&w, "kind", chart_kind_name(chart->kind));
    chart_write_columns(&w, in->plan);
    jw_lit(&w, "rows");
    TRY(chart_write_rows(&w, in, &in->rows, period));
    JW_BOOL(&w, "has_next_page", (int64_t)in->rows.count > chart->series.limit);
    chart_write_span(&w, "period", period);
    chart_write_span(&w, "previous_period", chart->compare ? &in->before : NULL);
    jw_lit(&w, "previous");
    if (chart->compare)
        TRY(chart_write_rows(&w, in, &in->previous, &in->before));
    else
        jw_null(&w);
    jw_lit(&w, "as_of");
    jw_time(&w, as_of_ms);
    jw_obj_end(&w);
    return 0;
}

/* --- rights --- */

static const struct caller chart_system_caller = {.kind = CALLER_SYSTEM};

/* A caller that may read a view may read all of its rows, so a view is read as the system. */
static struct records_ctx *chart_ctx(struct req *r, const struct chart *chart)
{
    struct records_ctx *ctx = items_ctx(r);

    if (chart->view.len)
        ctx->caller = &chart_system_caller;
    return ctx;
}

static int chart_may_read(struct req *r, const struct chart *chart)
{
    const struct caller *caller = r->scope->caller;

    if (chart->view.len) /* view_find() has checked the right */
        return 0;
    if (!caller_can_entity(caller, chart->entity->id, ACT_READ))
        return fail(r,
                    PROBLEM_FORBIDDEN,
                    "This needs the permission %.*s:read.",
                    STR_ARG(chart->entity->name));
    if (!caller_has_api_access(caller))
        return refusal(r,
                       REFUSE_API_ACCESS,
                       "None of the caller's roles has API access, which entity records need.");
    return 0;
}

static int chart_fail_malformed(struct req *r, const struct schema_errors *errors)
{
    return fail_with(r, PROBLEM_CONFLICT, STR("The chart no longer fits the data model."), errors);
}

/* Refuses a chart with a field that the caller may not read (403) or that the model no longer has
 * (409). Only callers without row and field rules learn the name of the missing field, because
 * field rules hide names. */
static int chart_may_read_fields(struct req *r, const struct chart *chart)
{
    struct records_ctx *ctx = chart_ctx(r, chart);
    struct str gone;

    if (!series_forbidden_path(ctx, chart->entity, &chart->series).ptr)
        return 0;
    ctx->caller = &chart_system_caller;
    gone = series_forbidden_path(ctx, chart->entity, &chart->series);
    if (!gone.ptr)
        return fail(r, PROBLEM_FORBIDDEN, "The chart shows fields that the caller may not read.");
    if (caller_has_all_rows(r->scope->caller))
        records_finding_add(ctx,
                            STR("definition"),
                            PROBLEM_UNKNOWN_FIELD,
                            "there is no field \"%.*s\"",
                            STR_ARG(gone));
    return chart_fail_malformed(r, &ctx->error.fields);
}

int chart_find_view(struct req *r, struct chart *chart)
{
    return chart->view.len ? view_find(r, chart->view, &chart->view_id, &chart->entity) : 0;
}

int chart_check(struct req *r, struct chart *chart)
{
    struct series_plan *plan;

    TRY(chart_find_view(r, chart));
    TRY(chart_may_read(r, chart));
    struct records_ctx *ctx = chart_ctx(r, chart);
    return items_reply_error(r, ctx, series_plan(ctx, chart->entity, &chart->series, &plan));
}

int chart_load(struct req *r, struct chart *ret_chart)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct chart_source source;
    struct rows rows;
    json_t *whole;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &rows, SQL_CHART_LOAD(.id = id)));
    const struct sql_chart_row row = sql_chart_row(&rows, 0);
    TRY(chart_find_source(r, row.entity_id.value, row.view, &source));
    whole = chart_stored_body(r, row.name, row.description, &source, row.definition, NULL);
    if (!whole)
        return fail_internal(r, -EBADMSG);
    if (chart_read(r, &chart_create_schema, whole, ret_chart) != 0)
        return chart_fail_malformed(r, errors);
    ret_chart->id = id;
    TRY(chart_find_view(r, ret_chart));
    TRY(chart_may_read(r, ret_chart));
    return chart_may_read_fields(r, ret_chart);
}

/* --- reading --- */

static struct shares *chart_reads(void)
{
    static struct shares reads;

    if (reads.config.limit == 0)
        shares_init(&reads,
                    &(struct shares_config){
                        .name = "chart_reads",
                        .limit = READS_MAX,
                        .per_owner = READS_PROJECT,
                        .waiting = READS_WAITING,
                    });
    return &reads;
}

/* co: Computes the period and the preceding one from the date in the chart's time zone. */
AWAITS static int reading_find_period(struct chart_reading *in)
{
    const struct chart *chart = in->chart;
    struct rows rows;

    if (chart->period_unit == BUCKET_NONE)
        return 0;
    TRY(sql_one(in->r,
                &rows,
                SQL_CHART_TODAY(.until = chart->until_ms, .timezone = chart->series.timezone)));
    if (!bucket_parse(sql_chart_today_row(&rows, 0).today, &in->today))
        return fail_field(
            in->r, "period.until", PROBLEM_OUT_OF_RANGE, "must be in the years 1 to 9999");
    in->period = bucket_window(chart->period_unit, chart->period_count, in->today, 0);
    in->before = bucket_window(chart->period_unit, chart->period_count, in->today, 1);
    return 0;
}

AWAITS static int chart_compute(struct chart_reading *in, struct str *ret_data)
{
    struct req *r = in->r;
    int64_t as_of_ms = clock_wall_ms();
    struct strbuf text;

    TRY(reading_find_period(in));
    TRY(items_reply_error(r, in->ctx, series_read(in->ctx, in->plan, &in->period, &in->rows)));
    if (in->chart->compare)
        TRY(items_reply_error(
            r, in->ctx, series_read(in->ctx, in->plan, &in->before, &in->previous)));
    strbuf_init(&text, r->task.arena, DATA_BYTES);
    TRY(chart_write_data(in, as_of_ms, &text));
    if (text.overflow)
        return fail_too_large(r);
    *ret_data = strbuf_view(&text);
    return 0;
}

/* --- key of the cache --- */

static void hash_ids(struct digest *hash, const int64_t *ids, size_t count)
{
    digest_update(hash, (struct str){(const char *)&count, sizeof(count)});
    digest_update(hash, (struct str){(const char *)ids, count * sizeof(*ids)});
}

static struct chart_key chart_key_of(const struct req *r, const struct chart *chart, bool ruled)
{
    const struct caller *caller = r->scope->caller;
    const struct rights *rights = caller->rights;
    int64_t numbers[] = {r->scope->project->number,
                         r->scope->model->version,
                         chart->entity->id,
                         ruled ? caller->user_id : 0,
                         ruled ? caller->group_scope : 0};
    struct digest hash;
    struct chart_key key;

    digest_init(&hash);
    hash_ids(&hash, numbers, ARRAY_LEN(numbers));
    if (ruled && rights) {
        hash_ids(&hash, rights->group_ids, rights->group_count);
        hash_ids(&hash, rights->role_ids, rights->role_count);
    }
    digest_update(&hash, chart->entity->table); /* differs for each generation of a view */
    digest_update(&hash, r->scope->project->settings.collation);
    digest_update(&hash, chart->text);
    digest_final(&hash, key.bytes);
    return key;
}

static bool chart_has_row_rules(const struct records_ctx *ctx, const struct series_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        if (records_has_row_rule(ctx, sources->entities[i]))
            return true;
    return false;
}

/* co: Runs with a permit to compute. Checks the cache again first, because another request may have
 * computed the data while this one waited for the permit. */
AWAITS static int chart_compute_once(struct chart_reading *in,
                                     const struct chart_key *key,
                                     const struct series_mark *mark,
                                     bool fresh,
                                     struct str *ret_data)
{
    bool due = fresh;
    struct str data = fresh ? STR_NONE : chart_cache_find(in->r, key, mark, &due);
    int64_t started_ms = clock_mono_ms();

    if (!data.ptr) {
        TRY(chart_compute(in, &data));
        in->cost_ms = clock_mono_ms() - started_ms + 1;
    }
    *ret_data = data;
    return 0;
}

int chart_data(struct req *r, const struct chart *chart, bool fresh, struct str *ret_data)
{
    struct chart_reading *in = ARENA_NEW(r->task.arena, in);
    struct series_sources *sources = ARENA_NEW(r->task.arena, sources);
    struct series_mark mark;
    struct share *permit;

    in->r = r;
    in->chart = chart;
    in->ctx = chart_ctx(r, chart);
    int rc = series_plan(in->ctx, chart->entity, &chart->series, &in->plan);
    if (rc == RECORDS_FAILED && chart->id)
        return chart_fail_malformed(r, &in->ctx->error.fields);
    TRY(items_reply_error(r, in->ctx, rc));
    series_sources(in->ctx, chart->entity, &chart->series, sources);
    bool ruled = chart_has_row_rules(in->ctx, sources);
    struct chart_key key = chart_key_of(r, chart, ruled);
    bool is_due = fresh || !sources->is_complete;
    *ret_data = is_due ? STR_NONE : chart_cache_find(r, &key, NULL, &is_due);
    if (ret_data->ptr)
        return 0;
    TRY(items_reply_error(r, in->ctx, series_mark(in->ctx, sources, ruled, &mark)));
    if (!is_due)
        *ret_data = chart_cache_find(r, &key, &mark, &is_due);
    if (ret_data->ptr)
        return 0;
    rc = shares_acquire(&r->task, chart_reads(), share_owner_of(&r->task), 1, 0, &permit);
    if (rc == -EAGAIN)
        return refusal(r, REFUSE_BUSY, "Too many charts of the project are being read; try again.");
    TRY(rc);
    rc = chart_compute_once(in, &key, &mark, is_due, ret_data);
    shares_release(chart_reads(), permit, 1);
    /* Data that row rules restrict expire after a second (a cost of 0), so a caller that loses
     * access to a row stops seeing it within that second. */
    if (rc == 0 && in->cost_ms > 0 && sources->is_complete)
        chart_cache_put(r, &key, &mark, *ret_data, ruled ? 0 : in->cost_ms);
    return rc;
}

int chart_load_data(struct req *r, bool fresh, struct chart *ret_chart, struct str *ret_data)
{
    size_t headers = r->extra_headers.len;

    TRY(chart_load(r, ret_chart));
    int rc = chart_data(r, ret_chart, fresh, ret_data);
    if (rc != 503 || !ret_chart->view.len || r->scope->db_failure != DB_SCHEMA)
        return rc;
    handler_discard_answer(r, headers);
    TRY(chart_load(r, ret_chart));
    return chart_data(r, ret_chart, fresh, ret_data);
}
