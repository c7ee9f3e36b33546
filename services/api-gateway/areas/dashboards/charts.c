/* /charts: definitions, previews, data. */
#include <errno.h>

#include "areas/dashboards/view_rows.h"
#include "charts_sql.h"
#include "items/items.h"
#include "limit.h"
#include "stages/stages.h"

static const struct query_param charts_query[] = {
    {.name = "entity", .type = FIELD_STR, .doc = "Only charts of this entity"},
    PAGE_QUERY,
    {0},
};

static const struct query_param chart_data_query[] = {
    {.name = "fresh",
     .type = FIELD_BOOL,
     .fallback = "false",
     .doc = "true computes the data now. With false, the data may come from a cache; as_of says "
            "when the data were computed."},
    {0},
};

/* Returns whether the caller may see the definition: an administrator, or a caller who may read the
 * entity and all fields that the definition names. */
static bool chart_is_readable(struct req *r, int64_t entity_id, struct str definition)
{
    const struct entity *entity = model_entity_by_id(r->scope->model, entity_id);
    const struct chart_source source = {.entity = entity};
    json_t *whole;
    struct chart chart;

    if (caller_is_admin(r->scope->caller))
        return true;
    whole = entity ? chart_stored_body(r, STR_NONE, STR_NONE, &source, definition, NULL) : NULL;
    if (!whole)
        return false;
    if (chart_read(r, &chart_preview_schema, whole, &chart) != 0) {
        handler_discard_answer(r, r->extra_headers.len);
        return false;
    }
    return series_is_readable(items_ctx(r), entity, &chart.series);
}

/* A reply_row_fn. Sets a definition that the caller may not see to null. */
static void chart_hide_definition(struct req *r, const struct rows *rows, size_t row)
{
    static const char *const hidden_members[] = {
        "aggregates", "group_by", "filter", "sort", "period"};
    int64_t entity_id = rows_i64(rows, row, rows_column(rows, "_chart_entity_id"));
    struct str definition = rows_str(rows, row, rows_column(rows, "_definition"));
    bool is_known = entity_id ? chart_is_readable(r, entity_id, definition)
                              : view_rows_are_readable(r, rows, row);

    if (!is_known)
        rows_clear(rows, row, hidden_members, ARRAY_LEN(hidden_members));
}

AWAITS static int charts_list(struct req *r)
{
    const struct query *query;
    struct opt_i64 entity_id = NO_I64;

    TRY(req_query(r, &query));
    struct str name = query_get(query, "entity");
    if (name.ptr) {
        const struct entity *entity = model_entity(r->scope->model, name);
        entity_id = some_i64(entity ? entity->id : 0);
    }
    return reply_page_masked(
        r,
        "id",
        chart_hide_definition,
        SQL_CHARTS_LIST(.entity_id = entity_id, .role_ids = caller_roles(r->scope->caller)));
}

AWAITS static int chart_reply(struct req *r, int status, int64_t id)
{
    struct rows rows;

    TRY(sql_one(r, &rows, SQL_CHART_GET(.id = id, .role_ids = caller_roles(r->scope->caller))));
    chart_hide_definition(r, &rows, 0);
    return reply_row(r, status, &rows);
}

AWAITS static int charts_get(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return chart_reply(r, 200, id);
}

static const struct limit charts_limit = {"charts", "A project", "charts", CHARTS_MAX};

AWAITS static int charts_create(struct req *r)
{
    struct chart chart;
    struct db_call count = db_call(SQL_CHARTS_COUNT());
    struct rows rows;
    json_t *body;

    TRY(req_json_any(r, &body));
    TRY(chart_read(r, &chart_create_schema, body, &chart));
    TRY(chart_check(r, &chart));
    TRY(sql_begin(r));
    TRY(limit_check(r, &charts_limit, 0, &count, 1));
    TRY(sql_one(r,
                &rows,
                SQL_CHART_ADD(.name = chart.name,
                              .description = chart.description,
                              .entity_id = some_id(chart.entity_id),
                              .view_id = some_id(chart.view_id),
                              .definition = chart.text,
                              .created_by = some_id(r->scope->caller->user_id))));
    int64_t id = sql_chart_add_row(&rows, 0).id;
    TRY(gateway_commit(r, gateway_audit(r, "charts.create", "chart", id, STR_NONE)));
    reply_location(r, id);
    return chart_reply(r, 201, id);
}

/* co: Refuses a change of the definition to callers that may not see it. A change replaces single
 * members, so its refusals would reveal the other members. */
AWAITS static int chart_may_redefine(struct req *r, const struct sql_chart_row *row)
{
    const struct entity *entity;
    int64_t view_id;

    if (caller_is_admin(r->scope->caller))
        return 0;
    if (row->view.ptr)
        return view_find(r, row->view, &view_id, &entity);
    return chart_is_readable(r, row->entity_id.value, row->definition)
               ? 0
               : fail(r,
                      PROBLEM_FORBIDDEN,
                      "The chart's definition names fields that the caller may not read.");
}

/* co: Begins a transaction, locks the chart of the path and reads into *ret what the chart becomes
 * with the members of the body. */
AWAITS static int charts_change(struct req *r, const json_t *body, int64_t id, struct chart *ret)
{
    struct chart_source source;
    struct rows rows;
    bool redefined;

    TRY(chart_read_change(r, body, &redefined));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_CHART_LOCK(.id = id)));
    const struct sql_chart_row row = sql_chart_row(&rows, 0);
    TRY(chart_find_source(r, row.entity_id.value, row.view, &source));
    if (redefined)
        TRY(chart_may_redefine(r, &row));
    json_t *whole = chart_stored_body(r, row.name, row.description, &source, row.definition, body);
    if (!whole)
        return fail_internal(r, -EBADMSG);
    TRY(chart_read(r, &chart_create_schema, whole, ret));
    ret->view_id = row.view_id.value;
    return redefined ? chart_check(r, ret) : 0;
}

AWAITS static int charts_update(struct req *r)
{
    struct chart chart = {.id = 0};
    json_t *body;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json_any(r, &body));
    TRY(charts_change(r, body, id, &chart));
    TRY(sql_exec(r,
                 NULL,
                 SQL_CHART_SAVE(.id = id,
                                .name = chart.name,
                                .description = chart.description,
                                .entity_id = some_id(chart.entity_id),
                                .view_id = some_id(chart.view_id),
                                .definition = chart.text)));
    TRY(gateway_commit(r, gateway_audit(r, "charts.update", "chart", id, STR_NONE)));
    return chart_reply(r, 200, id);
}

AWAITS static int charts_delete(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_CHART_REMOVE(.id = id)));
    TRY(gateway_commit(r, gateway_audit(r, "charts.delete", "chart", id, STR_NONE)));
    return reply_empty(r, 204);
}

static int reply_chart_data(struct req *r, struct str data)
{
    struct jw w = resp_json(r);

    jw_raw(&w, data);
    return reply_json(r, 200);
}

int chart_guard(struct req *r)
{
    struct chart *chart = ARENA_NEW(r->task.arena, chart);

    return chart_load(r, chart);
}

AWAITS static int charts_preview(struct req *r)
{
    struct chart chart;
    struct str data;
    json_t *body;

    TRY(req_json_any(r, &body));
    TRY(chart_read(r, &chart_preview_schema, body, &chart));
    TRY(chart_check(r, &chart));
    TRY(chart_data(r, &chart, false, &data));
    return reply_chart_data(r, data);
}

AWAITS static int charts_data(struct req *r)
{
    const struct query *query;
    struct chart chart;
    struct str data;

    TRY(req_query(r, &query));
    TRY(chart_load_data(r, str_is(query_get(query, "fresh"), "true"), &chart, &data));
    return reply_chart_data(r, data);
}

static const struct route charts_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/charts",
        .id = "charts_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_READ,
        .query = charts_query,
        .success = {200, &chart_out_schema, .list = true},
        .run = charts_list,
        .summary = "List charts",
    },
    {
        .method = HTTP_GET_M,
        .path = "/charts/{id}",
        .id = "charts_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_READ,
        .success = {200, &chart_out_schema},
        .extra_statuses = {404},
        .run = charts_get,
        .summary = "Get a chart's definition",
    },
    {
        .method = HTTP_POST_M,
        .path = "/charts",
        .id = "charts_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_CREATE,
        .body = &chart_create_schema,
        .success = {201, &chart_out_schema},
        .extra_statuses = {404, 409},
        .run = charts_create,
        .summary = "Create a chart",
        .doc = "The fields that the chart names must exist, and the caller must be able to read "
               "them.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/charts/{id}",
        .id = "charts_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_UPDATE,
        .body = &chart_update_schema,
        .success = {200, &chart_out_schema},
        .extra_statuses = {404, 409},
        .run = charts_update,
        .guard = charts_get,
        .summary = "Change a chart",
        .doc = "Members that are left out keep their value; null removes an optional member.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/charts/{id}",
        .id = "charts_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_DELETE,
        .success = {204},
        .extra_statuses = {404},
        .run = charts_delete,
        .guard = charts_get,
        .summary = "Delete a chart",
    },
    {
        .method = HTTP_POST_M,
        .path = "/charts/preview",
        .id = "charts_preview",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_READ,
        .headers = HEADER_GROUP_ID,
        .body = &chart_preview_schema,
        .success = {200, &chart_data_schema},
        .extra_statuses = {404, 409},
        .run = charts_preview,
        .class = CLASS_HEAVY,
        .summary = "Get the data of a chart without saving the chart",
    },
    {
        .method = HTTP_GET_M,
        .path = "/charts/{id}/data",
        .id = "charts_data",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_READ,
        .query = chart_data_query,
        .headers = HEADER_GROUP_ID,
        .success = {200, &chart_data_schema},
        .extra_statuses = {404, 409},
        .run = charts_data,
        .guard = chart_guard,
        .summary = "Get a chart's data, from the records that the caller sees",
        .doc =
            "Needs the permission to read the entity's records. Records that the caller may not "
            "see are left out. A field that the caller may not read is a 403, and a field that "
            "is gone from the model is a 409. Data are cached for a second. While the records do "
            "not seem to have changed, the data are cached for twenty times as long as they took "
            "to compute, a minute at most.",
    },
};
ROUTES(charts, "Charts");
