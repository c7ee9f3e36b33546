/* /materialized-views: definitions, schedules of refreshes, and sharing with roles. */
#include <errno.h>

#include "areas/dashboards/view_rows.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/timezone.h"
#include "items/items.h"
#include "limit.h"
#include "records/view.h"
#include "stages/refusals.h"
#include "views_sql.h"
#include "workflow/cron.h"

#define VIEWS_MAX      200 /* of a project */
#define VIEW_ROLES_MAX 100
#define ZONE_MAX       64

struct view_in {
    struct in_str name, description, entity, timezone, cron;
    struct in_list aggregates, group_by;
    struct in_json filter;
    struct in_bool on_change;
    struct in_ids role_ids;
};

/* clang-format off */
#define VIEW_MEMBERS(new)                                                                          \
    {.name = "name", FIELD_AT(struct view_in, name), .type = FIELD_STR, .required = (new),         \
     .max = 48, .format = "name", .doc = "Follows the rules for names of entities",                \
     .example = "\"sales_by_month\""},                                                             \
    {.name = "description", FIELD_AT(struct view_in, description), .type = FIELD_STR,              \
     .nullable = true, .max = 1000},                                                               \
    {.name = "entity", FIELD_AT(struct view_in, entity), .type = FIELD_STR, .required = (new),     \
     .max = 48, .example = "\"orders\""},                                                          \
    {.name = "aggregates", FIELD_AT(struct view_in, aggregates), .type = FIELD_LIST,               \
     .required = (new), .min = 1, .max = SERIES_VALUES, .sub = &chart_aggregate_schema,            \
     .doc = "Each aggregate is a column: the sum of total is sum_total, the sum of book.price "    \
     "is sum_book_price",                                                                          \
     .example = "[{\"function\": \"sum\", \"field\": \"total\"}]"},                                \
    {.name = "group_by", FIELD_AT(struct view_in, group_by), .type = FIELD_LIST,                   \
     .nullable = true, .max = SERIES_GROUPS, .sub = &chart_group_schema,                           \
     .doc = "One row per group; fields may follow relations, as in filters",                       \
     .example = "[{\"field\": \"created_at\", \"bucket\": \"month\"}]"},                           \
    {.name = "filter", FIELD_AT(struct view_in, filter), .type = FIELD_MAP, .nullable = true,      \
     .doc = "A filter object as in lists"},                                                        \
    {.name = "timezone", FIELD_AT(struct view_in, timezone), .type = FIELD_STR, .nullable = true,  \
     .max = ZONE_MAX, .doc = "Time zone of buckets and cron; UTC when left out"},                  \
    {.name = "cron", FIELD_AT(struct view_in, cron), .type = FIELD_STR, .nullable = true,          \
     .max = CRON_MAX_BYTES, .doc = "When the view is refreshed; syntax as for workflows",          \
     .example = "\"0 5 * * *\""},                                                                  \
    {.name = "on_change", FIELD_AT(struct view_in, on_change), .type = FIELD_BOOL,                 \
     .doc = "Refresh the view some seconds after its records have changed"},                       \
    {.name = "role_ids", FIELD_AT(struct view_in, role_ids), .type = FIELD_IDS,                    \
     .max = VIEW_ROLES_MAX, .doc = "Roles whose holders read all rows of the view, regardless "    \
     "of the records that they may read; only administrators may set role_ids"}
/* clang-format on */

static const struct field view_create_fields[] = {VIEW_MEMBERS(true)};
static const struct field view_update_fields[] = {VIEW_MEMBERS(false)};
static const struct schema view_create_schema =
    SCHEMA("MaterializedViewCreate", struct view_in, view_create_fields);
static const struct schema view_update_schema =
    SCHEMA("MaterializedViewUpdate", struct view_in, view_update_fields);

static const char *const view_states[] = {"pending", "refreshing", "ready", "failed", NULL};

static const struct field view_column_fields[] = {
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "type", .type = FIELD_STR, .required = true},
};
static const struct schema view_column_schema =
    SCHEMA_OUT("MaterializedViewColumn", view_column_fields);

static const struct field view_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "entity", .type = FIELD_STR, .required = true},
    {.name = "aggregates",
     .type = FIELD_LIST,
     .required = true,
     .nullable = true,
     .sub = &chart_aggregate_schema,
     .doc =
         "null, like group_by and filter, when the view names fields that the caller may not read"},
    {.name = "group_by",
     .type = FIELD_LIST,
     .required = true,
     .nullable = true,
     .sub = &chart_group_schema},
    {.name = "filter", .type = FIELD_MAP, .required = true, .nullable = true},
    {.name = "timezone", .type = FIELD_STR, .required = true},
    {.name = "cron", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "on_change", .type = FIELD_BOOL, .required = true},
    {.name = "role_ids", .type = FIELD_IDS, .required = true},
    {.name = "columns",
     .type = FIELD_LIST,
     .required = true,
     .nullable = true,
     .is_volatile = true,
     .sub = &view_column_schema,
     .doc = "Columns of the current rows. null, like refreshed_at, refresh_ms and row_count, when "
            "the caller may not read these rows"},
    {.name = "status",
     .type = FIELD_STR,
     .required = true,
     .is_volatile = true,
     .values = view_states},
    {.name = "refreshed_at",
     .type = FIELD_TIME,
     .required = true,
     .nullable = true,
     .is_volatile = true},
    {.name = "refresh_ms",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .is_volatile = true,
     .doc = "Milliseconds that the last refresh took"},
    {.name = "row_count",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .is_volatile = true},
    {.name = "next_refresh_at",
     .type = FIELD_TIME,
     .required = true,
     .nullable = true,
     .is_volatile = true},
    {.name = "error",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .is_volatile = true,
     .doc = "Why the last refresh failed; null when the caller may not read the rows that the "
            "refresh would have computed"},
    {.name = "version", .type = FIELD_I64, .required = true},
    {.name = "created_by", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema view_out_schema = SCHEMA_OUT("MaterializedView", view_out_fields);

/* --- definitions --- */

struct view {
    int64_t id;
    struct str name, description;
    const struct entity *entity;
    int64_t entity_id;
    struct records_series series;
    struct str definition, query; /* JSON */
    struct str cron;
    bool on_change;
    int64_t next_ms; /* by cron, 0 = never */
};

static int view_fail_field(struct req *r, const char *field, const char *message)
{
    return fail_field(r, field, PROBLEM_VALIDATION_FAILED, "%s", message);
}

static int view_read_cron(struct req *r, const struct view_in *in, struct view *view)
{
    const struct timezone_rules *zone = timezone_find(view->series.timezone);
    struct str reason;
    struct cron cron;

    if (!zone)
        return view_fail_field(r, "timezone", "there is no such time zone");
    if (!in->cron.value.len)
        return 0;
    if (cron_parse(r->task.arena, in->cron.value, &cron, &reason) != 0)
        return fail_field(r, "cron", PROBLEM_PATTERN, "%.*s", STR_ARG(reason));
    view->cron = in->cron.value;
    view->next_ms = cron_next(&cron, zone, clock_wall_ms());
    if (view->next_ms < 0)
        view->next_ms = 0;
    return 0;
}

static int view_print(struct req *r, const json_t *filter, struct view *view)
{
    struct strbuf definition;
    struct strbuf query;
    struct jw w;

    strbuf_init(&definition, r->task.arena, req_json_max(r));
    jw_init(&w, &definition);
    jw_obj(&w);
    chart_print_lists(&w, &view->series);
    jw_lit(&w, "filter");
    if (json_object_size(filter))
        jw_json(&w, filter);
    else
        jw_null(&w);
    jw_obj_end(&w);
    strbuf_init(&query, r->task.arena, req_json_max(r) * 2);
    jw_init(&w, &query);
    view_query_print(&w, &view->series);
    if (definition.overflow || query.overflow)
        return view_fail_field(r, "filter", "is too long");
    view->definition = strbuf_view(&definition);
    view->query = strbuf_view(&query);
    return 0;
}

static int view_read(struct req *r, const struct view_in *in, struct view *view)
{
    if (!model_name_ok(in->name.value))
        return fail_field(
            r, "name", PROBLEM_PATTERN, "must follow the rules for names of entities");
    view->name = in->name.value;
    view->description = in->description.value.len ? in->description.value : STR_NONE;
    view->on_change = in->on_change.value;
    view->entity = model_entity(r->scope->model, in->entity.value);
    r->scope->may_be_stale = !view->entity && !r->scope->is_rechecked;
    if (!view->entity)
        return view_fail_field(r, "entity", "there is no such entity");
    view->entity_id = view->entity->id;
    view->series.limit = VIEW_ROWS_MAX;
    view->series.timezone = in->timezone.value.len ? in->timezone.value : STR("UTC");
    TRY(view_read_cron(r, in, view));
    TRY(chart_read_values(r, &in->aggregates, &view->series));
    chart_read_groups(&in->group_by, &view->series);
    if (json_object_size(in->filter.value))
        TRY(items_filter_body(r, in->filter.value, &view->series.filter));
    return view_print(r, in->filter.value, view);
}

/* Checks the definition against the part of the model that the caller may see, so that no caller
 * defines a view that it could not compute itself. Rows are computed from every record, so a view
 * over an entity with row-level security needs an administrator. */
static int view_check_fields(struct req *r, const struct view *view)
{
    struct series_sources *sources = ARENA_NEW(r->task.arena, sources);
    struct records_ctx *ctx = items_ctx(r);
    struct series_plan *plan;

    if (!caller_can_entity(r->scope->caller, view->entity_id, ACT_READ))
        return fail(r,
                    PROBLEM_FORBIDDEN,
                    "This needs the permission %.*s:read.",
                    STR_ARG(view->entity->name));
    TRY(items_reply_error(r, ctx, series_plan(ctx, view->entity, &view->series, &plan)));
    TRY(items_reply_error(r, ctx, view_columns_check(ctx, plan)));
    series_sources(ctx, view->entity, &view->series, sources);
    if (!caller_is_admin(r->scope->caller) && view_has_row_rules(sources))
        return refusal(r,
                       REFUSE_ADMIN,
                       "Only an administrator of the project may define a view over an entity with "
                       "row-level security.");
    return 0;
}

/* Refuses a change of the roles to callers that are not administrators, because a shared view shows
 * its rows to callers that may not read the records. */
static int view_may_share(struct req *r, const struct view_in *in)
{
    if (!in->role_ids.set || caller_is_admin(r->scope->caller))
        return 0;
    return refusal(r, REFUSE_ADMIN, "Only an administrator of the project may share a view.");
}

static int view_may_change_shared(struct req *r, bool is_shared)
{
    if (!is_shared || caller_is_admin(r->scope->caller))
        return 0;
    return refusal(
        r, REFUSE_ADMIN, "Only an administrator of the project may change a shared view.");
}

/* Checks that the caller may change the locked view. `redefined`: checks also that the caller may
 * see the definition. */
static int view_may_change(struct req *r, const struct sql_view_lock_row *row, bool redefined)
{
    TRY(view_may_change_shared(r, row->is_shared));
    if (redefined && !view_definition_is_readable(r, row->entity_id, row->query))
        return fail(r,
                    PROBLEM_FORBIDDEN,
                    "The view's definition names fields that the caller may not read.");
    return 0;
}

AWAITS static int view_share(struct req *r, int64_t id, const struct in_ids *roles)
{
    struct sql_i64s ids;
    struct rows rows;

    if (!roles->set)
        return 0;
    ids = sql_i64s(roles->items, num_sort_unique(roles->items, roles->count));
    TRY(sql_one(r, &rows, SQL_VIEW_ROLES_KNOWN(.ids = ids)));
    if (sql_view_roles_known_row(&rows, 0).known != (int64_t)ids.count)
        return fail_field(r, "role_ids", PROBLEM_FOREIGN_KEY_VIOLATION, "there is no such role");
    struct db_call calls[] = {
        db_call(SQL_VIEW_ROLES_CLEAR(.view_id = id)),
        db_call(SQL_VIEW_ROLES_ADD(.view_id = id, .role_ids = ids)),
    };
    return sql_batch(r, calls, ARRAY_LEN(calls));
}

static int view_fail_name_taken(struct req *r)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    schema_error_add(r->task.arena, errors, STR("name"), PROBLEM_UNIQUE_VIOLATION, "is taken");
    return fail_with(
        r, PROBLEM_UNIQUE_VIOLATION, STR("A materialised view with this name exists."), errors);
}

/* --- endpoints --- */

AWAITS static int view_reply(struct req *r, int status, struct str name)
{
    struct rows rows;

    TRY(sql_one(r, &rows, SQL_VIEW_GET(.name = name, .role_ids = caller_roles(r->scope->caller))));
    view_hide_members(r, &rows, 0);
    return reply_row(r, status, &rows);
}

AWAITS static int views_list(struct req *r)
{
    return reply_page_masked(
        r, "id", view_hide_members, SQL_VIEWS_LIST(.role_ids = caller_roles(r->scope->caller)));
}

AWAITS static int views_get(struct req *r)
{
    return view_reply(r, 200, req_param(r, "name"));
}

static const struct limit views_limit = {
    "materialized_views", "A project", "materialised views", VIEWS_MAX};

AWAITS static int views_create(struct req *r)
{
    struct view *view = ARENA_NEW(r->task.arena, view);
    struct view_in in;
    struct db_call count = db_call(SQL_VIEWS_COUNT());
    struct rows rows;

    TRY(req_json(r, &view_create_schema, &in));
    TRY(view_may_share(r, &in));
    TRY(view_read(r, &in, view));
    TRY(view_check_fields(r, view));
    TRY(sql_check(r,
                  db_query(&r->task,
                           directory_control(gateway_directory()),
                           SQL_VIEW_PROJECT_PUT(.number = r->scope->project->number),
                           NULL)));
    TRY(sql_begin(r));
    TRY(limit_check(r, &views_limit, 0, &count, 1));
    TRY(sql_all(r,
                &rows,
                SQL_VIEW_ADD(.name = view->name,
                             .description = view->description,
                             .entity_id = view->entity_id,
                             .definition = view->definition,
                             .query = view->query,
                             .timezone = view->series.timezone,
                             .cron = view->cron,
                             .on_change = view->on_change,
                             .next_refresh_at = view->next_ms,
                             .created_by = some_id(r->scope->caller->user_id))));
    if (!rows.count)
        return view_fail_name_taken(r);
    int64_t id = sql_view_add_row(&rows, 0).id;
    TRY(view_share(r, id, &in.role_ids));
    TRY(gateway_commit(r, gateway_audit(r, "views.create", "materialized_view", id, STR_NONE)));
    resp_header_printf(r, "Location", "%.*s/%.*s", STR_ARG(r->path), STR_ARG(view->name));
    return view_reply(r, 201, view->name);
}

AWAITS static int views_update_guard(struct req *r)
{
    struct rows rows;

    TRY(sql_one(
        r,
        &rows,
        SQL_VIEW_GET(.name = req_param(r, "name"), .role_ids = caller_roles(r->scope->caller))));
    size_t column = rows_column(&rows, "role_ids");
    return view_may_change_shared(r, rows_sql_i64s(r->task.arena, &rows, 0, column).count > 0);
}

static void body_set_text(json_t *whole, const char *key, struct str text)
{
    if (text.ptr)
        (void)json_object_set_new(whole, key, json_stringn(text.ptr, text.len));
}

/* co: Begins a transaction, locks the view of the path and reads into *view and *ret_in what the
 * view becomes with the members of the body. */
AWAITS static int views_change(
    struct req *r, const json_t *body, bool redefined, struct view *view, struct view_in *ret_in)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct jr_error error;
    struct rows rows;
    json_t *whole;

    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_VIEW_LOCK(.name = req_param(r, "name"))));
    const struct sql_view_lock_row row = sql_view_lock_row(&rows, 0);
    const struct entity *entity = model_entity_by_id(r->scope->model, row.entity_id);
    r->scope->may_be_stale = !entity && !r->scope->is_rechecked;
    if (!entity)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    TRY(view_may_change(r, &row, redefined));
    if (jr_parse_stored(r->task.arena, row.definition, &whole, &error) != 0)
        return fail_internal(r, -EBADMSG);
    view->id = row.id;
    body_set_text(whole, "name", row.name);
    body_set_text(whole, "description", row.description);
    body_set_text(whole, "entity", entity->name);
    body_set_text(whole, "timezone", row.timezone);
    body_set_text(whole, "cron", row.cron);
    (void)json_object_set_new(whole, "on_change", json_boolean(row.on_change));
    (void)json_object_update(whole, (json_t *)body);
    if (!schema_decode(r->task.arena, &view_create_schema, whole, ret_in, errors))
        return fail_fields(r, errors);
    return view_read(r, ret_in, view);
}

AWAITS static int views_update(struct req *r)
{
    struct view *view = ARENA_NEW(r->task.arena, view);
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct view_in in = {.name = {.set = false}};
    struct rows before;
    struct rows after;
    struct rows rows;
    json_t *body;

    TRY(req_json_any(r, &body));
    if (!schema_decode(r->task.arena, &view_update_schema, body, &in, errors))
        return fail_fields(r, errors);
    const struct changed_member defined[] = {{"aggregates", in.aggregates.set},
                                             {"group_by", in.group_by.set},
                                             {"filter", in.filter.set}};
    TRY(view_may_share(r, &in));
    bool redefined =
        in.entity.set || in.aggregates.set || in.group_by.set || in.filter.set || in.timezone.set;
    TRY(views_change(r, body, redefined, view, &in));
    if (redefined)
        TRY(view_check_fields(r, view));
    TRY(sql_all(r, &rows, SQL_VIEW_FIND_OTHER_NAME(.name = view->name, .id = view->id)));
    if (rows.count)
        return view_fail_name_taken(r);
    TRY(sql_one(r, &before, SQL_VIEW_AUDIT_MEMBERS(.id = view->id)));
    TRY(sql_exec(r,
                 NULL,
                 SQL_VIEW_SAVE(.id = view->id,
                               .name = view->name,
                               .description = view->description,
                               .entity_id = view->entity_id,
                               .definition = view->definition,
                               .query = view->query,
                               .timezone = view->series.timezone,
                               .cron = view->cron,
                               .on_change = view->on_change,
                               .next_refresh_at = view->next_ms,
                               .redefined = redefined)));
    TRY(view_share(r, view->id, &in.role_ids));
    TRY(sql_one(r, &after, SQL_VIEW_AUDIT_MEMBERS(.id = view->id)));
    const struct audit_change change = {&before, &after, defined, ARRAY_LEN(defined)};
    TRY(gateway_commit(
        r, gateway_audit_change(r, "views.update", "materialized_view", view->id, &change)));
    return view_reply(r, 200, view->name);
}

AWAITS static int views_delete(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    struct rows rows;

    TRY(sql_begin_ddl(r));
    TRY(sql_one(r, &rows, SQL_VIEW_LOCK(.name = req_param(r, "name"))));
    int64_t id = sql_view_lock_row(&rows, 0).id;
    TRY(sql_exec(r, NULL, SQL_VIEW_REMOVE(.id = id)));
    ctx->db = r->scope->db;
    TRY(items_reply_error(r, ctx, view_tables_drop(ctx, id, 0)));
    TRY(gateway_commit(r, gateway_audit(r, "views.delete", "materialized_view", id, STR_NONE)));
    return reply_empty(r, 204);
}

AWAITS static int views_refresh(struct req *r)
{
    struct rows rows;

    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_VIEW_REQUEST(.name = req_param(r, "name"))));
    int64_t id = sql_view_request_row(&rows, 0).id;
    TRY(gateway_commit(r, gateway_audit(r, "views.refresh", "materialized_view", id, STR_NONE)));
    return view_reply(r, 202, req_param(r, "name"));
}

static const struct query_param views_rows_query[] = {
    {.name = "filter", .type = FIELD_STR, .deep = true, .doc = "As in lists of records"},
    {.name = "fields", .type = FIELD_STR, .doc = "Columns to return, separated by commas"},
    PAGE_QUERY,
    {.name = "cursor",
     .type = FIELD_STR,
     .doc = "'start', then the next_cursor of each answer: walks a list of any size"},
    {0},
};

static const struct route views_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/materialized-views",
        .id = "views_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_READ,
        .query = page_query,
        .success = {200, &view_out_schema, .list = true},
        .run = views_list,
        .summary = "List materialised views",
    },
    {
        .method = HTTP_GET_M,
        .path = "/materialized-views/{name}",
        .id = "views_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_READ,
        .success = {200, &view_out_schema},
        .extra_statuses = {404},
        .run = views_get,
        .summary = "Get a materialised view's definition and state",
    },
    {
        .method = HTTP_POST_M,
        .path = "/materialized-views",
        .id = "views_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_CREATE,
        .body = &view_create_schema,
        .success = {201, &view_out_schema},
        .extra_statuses = {409},
        .run = views_create,
        .summary = "Create a materialised view, whose rows are computed within seconds",
        .doc = "The caller must be able to read all fields that the view names. A view over an "
               "entity with row-level security needs an administrator.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/materialized-views/{name}",
        .id = "views_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_UPDATE,
        .body = &view_update_schema,
        .success = {200, &view_out_schema},
        .extra_statuses = {404, 409},
        .run = views_update,
        .guard = views_update_guard,
        .summary = "Change a materialised view",
        .doc = "Members that are left out keep their value. A change of the definition requests a "
               "refresh. Until that refresh is done, callers that may read the current rows still "
               "get them. "
               "Changing a shared view, or a definition over an entity with row-level security, "
               "needs an administrator.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/materialized-views/{name}",
        .id = "views_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_DELETE,
        .success = {204},
        .extra_statuses = {404},
        .run = views_delete,
        .guard = views_get,
        .summary = "Delete a materialised view and its rows",
    },
    {
        .method = HTTP_POST_M,
        .path = "/materialized-views/{name}/refresh",
        .id = "views_refresh",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_UPDATE,
        .success = {202, &view_out_schema},
        .extra_statuses = {404},
        .run = views_refresh,
        .guard = views_get,
        .class = CLASS_HEAVY,
        .summary = "Refresh a materialised view",
        .doc = "The current rows can be read during the refresh; status shows when the refresh is "
               "done.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/materialized-views/{name}/rows",
        .id = "views_rows",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_ENTITIES_READ,
        .query = views_rows_query,
        .success = {200, &record_schema, .list = true},
        .extra_statuses = {404, 409},
        .run = view_rows,
        .guard = view_rows_guard,
        .summary = "List the rows of a materialised view, in the form of a list of records",
        .doc = "For callers that may read all records and fields that the rows were computed from, "
               "and for the roles that the view is shared with. 409 before the first refresh, and "
               "after a field that the rows were computed from has been deleted.",
    },
};
ROUTES(views, "Materialised views");
