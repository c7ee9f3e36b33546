/* /dashboards/{id}/widgets: charts, texts, lists of records and links on a grid. */
#include "areas/dashboards/dashboards.h"
#include "areas/menus/menus.h"
#include "dashboards_sql.h"
#include "items/items.h"
#include "stages/stages.h"

#define TEXT_MAX       10000
#define NAMES_MAX      1000
#define URL_MAX        2048
#define LIST_MAX       100
#define DOC_BYTES      ((size_t)256 << 10)
#define DEFAULT_WIDTH  6
#define DEFAULT_HEIGHT 4

static const char *const widget_kinds[] = {"chart", "text", "list", "link", NULL};

struct widget_in {
    struct in_str kind, title, entity, text, url, fields, sort;
    struct in_i64 x, y, width, height, chart_id, limit;
    struct in_json filter;
};

/* clang-format off */
#define WIDGET_NUMBER(member, low, high, text)                                                     \
    {.name = #member, FIELD_AT(struct widget_in, member), .type = FIELD_I64, .has_min = true,      \
     .min = (low), .has_max = true, .max = (high), .doc = (text)}
static const struct field widget_fields[] = {
    {.name = "kind", FIELD_AT(struct widget_in, kind), .type = FIELD_STR, .values = widget_kinds,
     .doc = "Required to create a widget", .example = "\"chart\""},
    {.name = "title", FIELD_AT(struct widget_in, title), .type = FIELD_STR, .nullable = true,
     .max = 200},
    WIDGET_NUMBER(x, 0, DASHBOARD_COLUMNS - 1, "First column, of the twelve columns of the grid"),
    WIDGET_NUMBER(y, 0, DASHBOARD_ROWS_MAX,
                  "First row; a new widget without x and y is placed below all widgets"),
    WIDGET_NUMBER(width, 1, DASHBOARD_COLUMNS, "In columns; a new widget has 6 when left out"),
    WIDGET_NUMBER(height, 1, WIDGET_HEIGHT_MAX, "In rows; a new widget has 4 when left out"),
    {.name = "chart_id", FIELD_AT(struct widget_in, chart_id), .type = FIELD_I64, .nullable = true,
     .has_min = true, .min = 1, .doc = "For kind chart: the chart to show"},
    {.name = "entity", FIELD_AT(struct widget_in, entity), .type = FIELD_STR, .nullable = true,
     .max = 48, .doc = "For kind list: the entity whose records are shown"},
    {.name = "filter", FIELD_AT(struct widget_in, filter), .type = FIELD_MAP, .nullable = true,
     .doc = "For kind list: a filter object, such as {\"status\":{\"eq\":\"open\"}}"},
    {.name = "fields", FIELD_AT(struct widget_in, fields), .type = FIELD_STR, .nullable = true,
     .max = NAMES_MAX, .doc = "For kind list: fields, separated by commas; all when left out"},
    {.name = "sort", FIELD_AT(struct widget_in, sort), .type = FIELD_STR, .nullable = true,
     .max = NAMES_MAX, .doc = "For kind list: fields, separated by commas; a leading '-' reverses"},
    {.name = "limit", FIELD_AT(struct widget_in, limit), .type = FIELD_I64, .nullable = true,
     .has_min = true, .min = 1, .has_max = true, .max = LIST_MAX,
     .doc = "For kind list: the most records to show; 10 when left out"},
    {.name = "text", FIELD_AT(struct widget_in, text), .type = FIELD_STR, .nullable = true,
     .max = TEXT_MAX, .doc = "For kind text: stored unchanged; clients must sanitise it"},
    {.name = "url", FIELD_AT(struct widget_in, url), .type = FIELD_STR, .nullable = true,
     .max = URL_MAX, .doc = "For kind link: a path, or an address with http, https, mailto or tel"},
};
/* clang-format on */
static const struct schema widget_create_schema =
    SCHEMA("DashboardWidgetCreate", struct widget_in, widget_fields);
static const struct schema widget_update_schema =
    SCHEMA("DashboardWidgetUpdate", struct widget_in, widget_fields);

static const struct field widget_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "kind", .type = FIELD_STR, .required = true, .values = widget_kinds},
    {.name = "title", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "x", .type = FIELD_I64, .required = true},
    {.name = "y", .type = FIELD_I64, .required = true},
    {.name = "width", .type = FIELD_I64, .required = true},
    {.name = "height", .type = FIELD_I64, .required = true},
    {.name = "chart_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "entity", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "filter",
     .type = FIELD_MAP,
     .required = true,
     .nullable = true,
     .doc = "null, like fields and sort, when a list names fields that the caller may not read"},
    {.name = "fields", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "sort", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "limit", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "text", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "url", .type = FIELD_STR, .required = true, .nullable = true},
};
const struct schema widget_out_schema = SCHEMA_OUT("DashboardWidget", widget_out_fields);

struct layout_item_in {
    struct in_i64 id, x, y, width, height;
};
static const struct field layout_place_fields[] = {
    {.name = "id",
     FIELD_AT(struct layout_item_in, id),
     .type = FIELD_I64,
     .required = true,
     .has_min = true,
     .min = 1},
#define LAYOUT_NUMBER(member, low, high)                                                           \
    {                                                                                              \
        .name = #member, FIELD_AT(struct layout_item_in, member), .type = FIELD_I64,               \
        .has_min = true, .min = (low), .has_max = true, .max = (high)                              \
    }
    LAYOUT_NUMBER(x, 0, DASHBOARD_COLUMNS - 1),
    LAYOUT_NUMBER(y, 0, DASHBOARD_ROWS_MAX),
    LAYOUT_NUMBER(width, 1, DASHBOARD_COLUMNS),
    LAYOUT_NUMBER(height, 1, WIDGET_HEIGHT_MAX),
};
static const struct schema layout_place_schema =
    SCHEMA("DashboardPlace", struct layout_item_in, layout_place_fields);

struct layout_in {
    struct in_list items; /* of struct layout_item_in */
    struct in_i64 version;
};
static const struct field layout_fields[] = {
    {.name = "items",
     FIELD_AT(struct layout_in, items),
     .type = FIELD_LIST,
     .required = true,
     .min = 1,
     .max = DASHBOARD_WIDGETS,
     .sub = &layout_place_schema,
     .example = "[{\"id\": 7, \"x\": 0, \"y\": 0, \"width\": 6, \"height\": 4}]"},
    {.name = "version",
     FIELD_AT(struct layout_in, version),
     .type = FIELD_I64,
     .doc = "Version of the dashboard that the client has read: 409 when it has changed since"},
};
static const struct schema layout_schema =
    SCHEMA("DashboardLayout", struct layout_in, layout_fields);

/* --- positions on the grid --- */

struct widget_positions {
    struct widget_position *items; /* has space for one more */
    size_t count;
};

AWAITS static int
widgets_load_positions(struct req *r, int64_t dashboard_id, struct widget_positions *ret)
{
    struct rows rows;

    TRY(sql_all(r, &rows, SQL_WIDGET_POSITIONS(.dashboard_id = dashboard_id)));
    ret->count = rows.count;
    ret->items = ARENA_ARRAY(r->task.arena, ret->items, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_widget_positions_row row = sql_widget_positions_row(&rows, i);
        ret->items[i] = (struct widget_position){row.id, row.x, row.y, row.width, row.height};
    }
    return 0;
}

static struct widget_position *widget_find_position(const struct widget_positions *placed,
                                                    int64_t id)
{
    for (size_t i = 0; i < placed->count; i++)
        if (placed->items[i].id == id)
            return &placed->items[i];
    return NULL;
}

static int check_positions(struct req *r, const struct widget_positions *placed)
{
    int64_t one;
    int64_t other;

    for (size_t i = 0; i < placed->count; i++) {
        const struct widget_position *position = &placed->items[i];
        if (position->x + position->width > DASHBOARD_COLUMNS)
            return fail_field(
                r, "width", PROBLEM_OUT_OF_RANGE, "the grid has %d columns", DASHBOARD_COLUMNS);
    }
    if (!widget_positions_overlap(placed->items, placed->count, &one, &other))
        return 0;
    if (one == 0 || other == 0)
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The position overlaps that of the widget %lld.",
                    (long long)(one ? one : other));
    return fail(r,
                PROBLEM_CONFLICT,
                "The widgets %lld and %lld would overlap.",
                (long long)one,
                (long long)other);
}

#define MERGE_POSITION(place, in)                                                                  \
    do {                                                                                           \
        (place)->x = (in)->x.set ? (in)->x.value : (place)->x;                                     \
        (place)->y = (in)->y.set ? (in)->y.value : (place)->y;                                     \
        (place)->width = (in)->width.set ? (in)->width.value : (place)->width;                     \
        (place)->height = (in)->height.set ? (in)->height.value : (place)->height;                 \
    } while (0)

/* --- content of a widget --- */

struct widget {
    struct str kind, title;
    const struct entity *entity;
    int64_t chart_id;
    struct str content; /* JSON */
};

static int
widget_fail_field(struct req *r, const char *field, enum problem code, const char *message)
{
    return fail_field(r, field, code, "%s", message);
}

/* Checks that the body has the members that its kind needs, and none that belongs to another kind
 * only. */
static int check_members(struct req *r, const struct widget_in *in)
{
    const struct {
        const char *kind, *name;
        bool given, needed;
    } members[] = {
        {"chart", "chart_id", in->chart_id.value != 0, true},
        {"text", "text", in->text.value.len > 0, true},
        {"link", "url", in->url.value.len > 0, true},
        {"list", "entity", in->entity.value.len > 0, true},
        {"list", "filter", json_object_size(in->filter.value) > 0, false},
        {"list", "fields", in->fields.value.len > 0, false},
        {"list", "sort", in->sort.value.len > 0, false},
        {"list", "limit", in->limit.value != 0, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        bool own = str_is(in->kind.value, members[i].kind);
        if (own && members[i].needed && !members[i].given)
            return widget_fail_field(r, members[i].name, PROBLEM_REQUIRED, "is required");
        if (!own && members[i].given)
            return widget_fail_field(r,
                                     members[i].name,
                                     PROBLEM_VALIDATION_FAILED,
                                     "is not allowed for a widget of this kind");
    }
    return 0;
}

/* Checks that the caller may read all fields of the list. `sorts`: a leading '-' is allowed. */
static int check_names_of(
    struct req *r, const struct entity *entity, const char *member, struct str names, bool sorts)
{
    struct records_ctx *ctx = items_ctx(r);

    while (names.ptr) {
        struct records_series query = {.group_count = 1};
        struct str name = str_split(&names, ',');
        if (sorts && name.len && name.ptr[0] == '-')
            name = (struct str){name.ptr + 1, name.len - 1};
        query.groups[0].path = name;
        if (series_forbidden_path(ctx, entity, &query).ptr)
            return widget_fail_field(
                r, member, PROBLEM_UNKNOWN_FIELD, "names a field that does not exist");
    }
    return 0;
}

static int check_list(struct req *r, const struct widget_in *in, struct widget *widget)
{
    struct records_series query = {.value_count = 1, .limit = 1};
    struct records_ctx *ctx = items_ctx(r);
    struct series_plan *plan;

    widget->entity = model_entity(r->scope->model, in->entity.value);
    r->scope->may_be_stale = !widget->entity && !r->scope->is_rechecked;
    if (!widget->entity || !caller_can_entity(r->scope->caller, widget->entity->id, ACT_READ))
        return widget_fail_field(r, "entity", PROBLEM_VALIDATION_FAILED, "there is no such entity");
    if (json_object_size(in->filter.value)) {
        TRY(items_filter_body(r, in->filter.value, &query.filter));
        TRY(items_reply_error(r, ctx, series_plan(ctx, widget->entity, &query, &plan)));
    }
    if (in->fields.value.len)
        TRY(check_names_of(r, widget->entity, "fields", in->fields.value, false));
    return in->sort.value.len ? check_names_of(r, widget->entity, "sort", in->sort.value, true) : 0;
}

static struct str widget_print(struct req *r, const struct widget_in *in)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, DOC_BYTES);
    jw_init(&w, &text);
    jw_obj(&w);
    if (json_object_size(in->filter.value)) {
        jw_lit(&w, "filter");
        jw_json(&w, in->filter.value);
    }
    if (in->fields.value.len)
        JW_STR(&w, "fields", in->fields.value);
    if (in->sort.value.len)
        JW_STR(&w, "sort", in->sort.value);
    if (str_is(in->kind.value, "list"))
        JW_I64(&w, "limit", in->limit.value ? in->limit.value : 10);
    if (in->text.value.len)
        JW_STR(&w, "text", in->text.value);
    if (in->url.value.len)
        JW_STR(&w, "url", in->url.value);
    jw_obj_end(&w);
    return text.overflow ? STR_NONE : strbuf_view(&text);
}

/* co: Reads the kind and the content, which a body has to give together. */
AWAITS static int widget_read(struct req *r, const struct widget_in *in, struct widget *ret)
{
    struct rows rows;

    if (!in->kind.set)
        return widget_fail_field(r, "kind", PROBLEM_REQUIRED, "is required");
    TRY(check_members(r, in));
    *ret = (struct widget){.kind = in->kind.value, .chart_id = in->chart_id.value};
    if (in->entity.value.len)
        TRY(check_list(r, in, ret));
    if (in->url.value.len && !menu_url_ok(in->url.value))
        return widget_fail_field(
            r,
            "url",
            PROBLEM_PATTERN,
            "must be a path that begins with /, or an address with http, https, mailto or tel");
    if (ret->chart_id) {
        TRY(sql_all(r, &rows, SQL_WIDGET_CHART(.id = ret->chart_id)));
        if (!rows.count)
            return widget_fail_field(
                r, "chart_id", PROBLEM_FOREIGN_KEY_VIOLATION, "there is no such chart");
    }
    ret->content = widget_print(r, in);
    return ret->content.ptr ? 0 : widget_fail_field(r, "filter", PROBLEM_TOO_LONG, "is too long");
}

/* --- hidden fields --- */

/* Returns whether the caller may read the entity and every field that the list names. */
static bool list_is_readable(struct req *r, const json_t *shown)
{
    struct widget widget = {.kind = STR_NONE};
    struct widget_in in = {.entity = {.set = false}};

    in.entity.value = jr_str(shown, "entity");
    in.fields.value = jr_str(shown, "fields");
    in.sort.value = jr_str(shown, "sort");
    in.filter.value = json_object_get(shown, "filter");
    if (check_list(r, &in, &widget) == 0)
        return true;
    handler_discard_answer(r, r->extra_headers.len);
    return false;
}

/* Sets filter, fields and sort to null when they name fields that the caller may not read. Position
 * and entity of the list stay. Returns whether the widget was changed. */
static bool widget_hide_fields(struct req *r, json_t *shown)
{
    static const char *const hidden_fields[] = {"filter", "fields", "sort"};

    if (!str_is(jr_str(shown, "kind"), "list") || list_is_readable(r, shown))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(hidden_fields); i++)
        (void)json_object_set_new(shown, hidden_fields[i], json_null());
    return true;
}

void dashboard_hide_fields(struct req *r, const struct rows *rows, size_t row, const char *column)
{
    size_t at = rows_column(rows, column);
    struct jr_error error;
    bool is_changed = false;
    json_t *shown;
    size_t i;
    json_t *widget;

    if (caller_is_admin(r->scope->caller))
        return;
    if (jr_parse_stored(r->task.arena, rows_str(rows, row, at), &shown, &error) != 0) {
        rows_replace(rows, row, at, STR_NONE);
        return;
    }
    if (json_is_object(shown))
        is_changed = widget_hide_fields(r, shown);
    json_array_foreach(shown, i, widget) is_changed = widget_hide_fields(r, widget) || is_changed;
    if (is_changed)
        rows_replace(rows, row, at, jr_print(r->task.arena, shown));
}

/* --- endpoints --- */

AWAITS static int
widgets_finish(struct req *r, const char *action, int64_t dashboard_id, struct str detail)
{
    struct db_call calls[] = {
        db_call(SQL_DASHBOARD_VERSION_RAISE(.id = dashboard_id)),
        gateway_audit(r, action, "dashboard", dashboard_id, detail),
    };

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    return sql_commit(r);
}

AWAITS static int widget_reply(struct req *r, int status, int64_t dashboard_id, int64_t id)
{
    struct rows rows;
    struct jw w;

    TRY(sql_one(r, &rows, SQL_WIDGET_GET(.id = id, .dashboard_id = dashboard_id)));
    dashboard_hide_fields(r, &rows, 0, "widget");
    w = resp_json(r);
    jw_raw(&w, sql_widget_get_row(&rows, 0).widget);
    return reply_json(r, status);
}

AWAITS static int dashboard_widgets_create(struct req *r)
{
    struct widget widget = {.kind = STR_NONE};
    struct widget_positions placed;
    struct widget_in in;
    struct rows rows;
    int64_t version;
    int64_t dashboard_id;

    TRY(req_json(r, &widget_create_schema, &in));
    TRY(dashboard_lock(r, &dashboard_id, &version, &rows));
    TRY(widget_read(r, &in, &widget));
    TRY(widgets_load_positions(r, dashboard_id, &placed));
    if (placed.count >= DASHBOARD_WIDGETS)
        return fail(r, PROBLEM_CONFLICT, "A dashboard has at most %d widgets.", DASHBOARD_WIDGETS);
    struct widget_position *position = &placed.items[placed.count];
    *position = (struct widget_position){.width = DEFAULT_WIDTH, .height = DEFAULT_HEIGHT};
    if (!in.x.set && !in.y.set)
        position->y = widget_positions_next_row(placed.items, placed.count);
    MERGE_POSITION(position, &in);
    placed.count++;
    if (position->y > DASHBOARD_ROWS_MAX)
        return fail(r, PROBLEM_CONFLICT, "The dashboard has no free row below its widgets.");
    TRY(check_positions(r, &placed));
    TRY(sql_one(r,
                &rows,
                SQL_WIDGET_ADD(.dashboard_id = dashboard_id,
                               .kind = widget.kind,
                               .title = in.title.value,
                               .x = position->x,
                               .y = position->y,
                               .width = position->width,
                               .height = position->height,
                               .chart_id = some_id(widget.chart_id),
                               .entity_id = some_id(widget.entity ? widget.entity->id : 0),
                               .content = widget.content)));
    int64_t id = sql_widget_add_row(&rows, 0).id;
    TRY(widgets_finish(r, "dashboards.add_widget", dashboard_id, STR_NONE));
    resp_header_printf(r, "Location", "%.*s", (int)(r->path.len - strlen("/widgets")), r->path.ptr);
    return widget_reply(r, 201, dashboard_id, id);
}

/* Returns whether the body replaces the widget's content, not only its title and position. */
static bool body_has_content(const struct widget_in *in)
{
    return in->kind.set || in->entity.set || in->text.set || in->url.set || in->fields.set ||
           in->sort.set || in->chart_id.set || in->limit.set || in->filter.set;
}

AWAITS static int dashboard_widget_guard(struct req *r)
{
    struct widget_positions placed;
    int64_t dashboard_id;
    int64_t id;

    TRY(req_id(r, "widgetId", &id));
    TRY(dashboard_guard(r));
    TRY(req_id(r, "id", &dashboard_id));
    TRY(widgets_load_positions(r, dashboard_id, &placed));
    return widget_find_position(&placed, id) ? 0 : fail(r, PROBLEM_NOT_FOUND, NULL);
}

AWAITS static int dashboard_widgets_update(struct req *r)
{
    struct widget widget = {.kind = STR_NONE};
    struct widget_positions placed;
    struct widget_in in;
    struct rows rows;
    int64_t version;
    int64_t dashboard_id;
    int64_t id;

    TRY(req_id(r, "widgetId", &id));
    TRY(req_json(r, &widget_update_schema, &in));
    TRY(dashboard_lock(r, &dashboard_id, &version, &rows));
    TRY(widgets_load_positions(r, dashboard_id, &placed));
    struct widget_position *position = widget_find_position(&placed, id);
    if (!position)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    if (body_has_content(&in))
        TRY(widget_read(r, &in, &widget));
    MERGE_POSITION(position, &in);
    TRY(check_positions(r, &placed));
    TRY(sql_exec(r,
                 NULL,
                 SQL_WIDGET_SAVE(.id = id,
                                 .kind = widget.kind,
                                 .retitled = in.title.set,
                                 .title = in.title.value,
                                 .x = position->x,
                                 .y = position->y,
                                 .width = position->width,
                                 .height = position->height,
                                 .chart_id = some_id(widget.chart_id),
                                 .entity_id = some_id(widget.entity ? widget.entity->id : 0),
                                 .content = widget.content)));
    TRY(widgets_finish(r, "dashboards.update_widget", dashboard_id, STR_NONE));
    return widget_reply(r, 200, dashboard_id, id);
}

AWAITS static int dashboard_widgets_delete(struct req *r)
{
    struct rows rows;
    int64_t version;
    int64_t dashboard_id;
    int64_t id;

    TRY(req_id(r, "widgetId", &id));
    TRY(dashboard_lock(r, &dashboard_id, &version, &rows));
    TRY(sql_one(r, &rows, SQL_WIDGET_REMOVE(.id = id, .dashboard_id = dashboard_id)));
    TRY(widgets_finish(r, "dashboards.delete_widget", dashboard_id, STR_NONE));
    return reply_empty(r, 204);
}

/* Moves `placed` to the positions of the body. Puts 409 with findings for widgets that are not on
 * the dashboard, because another request has removed them since the caller read the dashboard. */
static int
layout_read(struct req *r, const struct layout_in *in, const struct widget_positions *placed)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    const struct layout_item_in *items = in->items.items;

    for (size_t i = 0; i < in->items.count; i++) {
        struct widget_position *position = widget_find_position(placed, items[i].id.value);
        for (size_t k = 0; k < i; k++)
            if (items[k].id.value == items[i].id.value)
                return widget_fail_field(
                    r, "items", PROBLEM_UNIQUE_VIOLATION, "names a widget twice");
        if (position)
            MERGE_POSITION(position, &items[i]);
        else
            schema_error_add(r->task.arena,
                             errors,
                             arena_printf(r->task.arena, "items[%zu].id", i),
                             PROBLEM_CONFLICT,
                             "is not a widget of this dashboard");
    }
    if (errors->count)
        return fail_with(r,
                         PROBLEM_CONFLICT,
                         STR("The dashboard has changed since it was read; read it again."),
                         errors);
    return check_positions(r, placed);
}

AWAITS static int
layout_save(struct req *r, int64_t dashboard_id, const struct widget_positions *placed)
{
    enum { ID, X, Y, WIDTH, HEIGHT_OF, COLUMNS };
    int64_t *columns[COLUMNS];

    for (int i = 0; i < COLUMNS; i++)
        columns[i] = ARENA_ARRAY(r->task.arena, columns[i], placed->count + 1);
    for (size_t i = 0; i < placed->count; i++) {
        columns[ID][i] = placed->items[i].id;
        columns[X][i] = placed->items[i].x;
        columns[Y][i] = placed->items[i].y;
        columns[WIDTH][i] = placed->items[i].width;
        columns[HEIGHT_OF][i] = placed->items[i].height;
    }
    return sql_exec(r,
                    NULL,
                    SQL_WIDGETS_PLACE(.dashboard_id = dashboard_id,
                                      .ids = sql_i64s(columns[ID], placed->count),
                                      .xs = sql_i64s(columns[X], placed->count),
                                      .ys = sql_i64s(columns[Y], placed->count),
                                      .widths = sql_i64s(columns[WIDTH], placed->count),
                                      .heights = sql_i64s(columns[HEIGHT_OF], placed->count)));
}

AWAITS static int dashboard_layout(struct req *r)
{
    struct widget_positions placed;
    struct layout_in in;
    struct rows rows;
    int64_t version;
    int64_t dashboard_id;

    TRY(req_json(r, &layout_schema, &in));
    TRY(dashboard_lock(r, &dashboard_id, &version, &rows));
    if (in.version.set && in.version.value != version)
        return fail(
            r,
            PROBLEM_CONFLICT,
            "The dashboard has changed since it was read and has version %lld now; read it again.",
            (long long)version);
    TRY(widgets_load_positions(r, dashboard_id, &placed));
    TRY(layout_read(r, &in, &placed));
    TRY(layout_save(r, dashboard_id, &placed));
    TRY(widgets_finish(r, "dashboards.layout", dashboard_id, STR_NONE));
    return dashboard_reply(r, 200, dashboard_id);
}

static const struct route dashboard_widgets_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/dashboards/{id}/widgets",
        .id = "dashboard_widgets_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_UPDATE,
        .body = &widget_create_schema,
        .success = {201, &widget_out_schema},
        .extra_statuses = {404, 409},
        .run = dashboard_widgets_create,
        .guard = dashboard_guard,
        .summary = "Add a widget to a dashboard",
        .doc = "409 when the position overlaps another widget.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/dashboards/{id}/widgets/layout",
        .id = "dashboard_layout",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_UPDATE,
        .body = &layout_schema,
        .success = {200, &dashboard_out_schema},
        .extra_statuses = {404, 409},
        .run = dashboard_layout,
        .guard = dashboard_guard,
        .summary = "Move widgets, all or none",
        .doc = "Widgets that the body does not name keep their position. 409 when a widget is "
               "gone, when the dashboard has another version, or when widgets would overlap.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/dashboards/{id}/widgets/{widgetId}",
        .id = "dashboard_widgets_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_UPDATE,
        .body = &widget_update_schema,
        .success = {200, &widget_out_schema},
        .extra_statuses = {404, 409},
        .run = dashboard_widgets_update,
        .guard = dashboard_widget_guard,
        .summary = "Change or move a widget",
        .doc = "The content is replaced as a whole, by a body with the member kind. Without kind, "
               "a body may change only title and position.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/dashboards/{id}/widgets/{widgetId}",
        .id = "dashboard_widgets_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DASHBOARDS_UPDATE,
        .success = {204},
        .extra_statuses = {404},
        .run = dashboard_widgets_delete,
        .guard = dashboard_widget_guard,
        .summary = "Remove a widget from a dashboard",
    },
};
ROUTES(dashboard_widgets, "Dashboards");
