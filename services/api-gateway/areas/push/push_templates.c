/* /push/templates: stored content that sends can start from. */
#include "areas/push/push.h"
#include "http/query.h"
#include "limit.h"
#include "push_templates_sql.h"

enum { TEMPLATES_MAX = 1000 };

struct template_in {
    struct in_str template_type, name;
    struct push_content_in content;
    struct in_bool is_active;
};

/* clang-format off */
#define TYPE_MEMBER                                                                                \
    {.name = "template_type", FIELD_AT(struct template_in, template_type), .type = FIELD_STR,      \
     .required = true, .min = 1, .max = PUSH_ID_MAX,                                               \
     .doc = "Name for steps and test sends; cannot be changed", .example = "\"dinner\""}
#define TEMPLATE_MEMBERS(new)                                                                      \
    {.name = "name", FIELD_AT(struct template_in, name), .type = FIELD_STR, .required = (new),     \
     .min = 1, .max = 100, .example = "\"Dinner\""},                                               \
    PUSH_CONTENT_MEMBERS(struct template_in),                                                      \
    {.name = "is_active", FIELD_AT(struct template_in, is_active), .type = FIELD_BOOL,             \
     .doc = "Only an active template can be used to send; true when left out"}
/* clang-format on */

static const struct field create_fields[] = {TYPE_MEMBER, TEMPLATE_MEMBERS(true)};
static const struct field update_fields[] = {TEMPLATE_MEMBERS(false)};
static const struct schema create_schema =
    SCHEMA("PushTemplateCreate", struct template_in, create_fields);
static const struct schema update_schema =
    SCHEMA("PushTemplateUpdate", struct template_in, update_fields);

static const struct field out_fields[] = {
    {.name = "template_type", .type = FIELD_STR, .required = true, .example = "\"dinner\""},
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"Dinner\""},
    {.name = "title", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "body", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "image_url", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "click_action", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "category", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "buttons", .type = FIELD_LIST, .required = true, .sub = &push_button_schema},
    {.name = "is_active", .type = FIELD_BOOL, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema out_schema = SCHEMA_OUT("PushTemplate", out_fields);

/* --- the stored template --- */

static void template_merge_text(struct str *to, const struct in_str *in)
{
    if (in->set)
        *to = in->value.len ? in->value : STR_NONE;
}

static void template_merge(struct req *r,
                           const struct template_in *in,
                           struct sql_push_template_lock_row *template)
{
    template_merge_text(&template->name, &in->name);
    template_merge_text(&template->title, &in->content.title);
    template_merge_text(&template->body, &in->content.body);
    template_merge_text(&template->image_url, &in->content.image_url);
    template_merge_text(&template->click_action, &in->content.click_action);
    template_merge_text(&template->category, &in->content.category);
    if (in->content.buttons.set)
        template->buttons = push_buttons_json(r, &in->content.buttons);
    if (in->is_active.set)
        template->is_active = in->is_active.value;
}

/* co: Writes the audit row, reads the template as it is now and commits the open transaction. */
AWAITS static int
template_commit(struct req *r, const char *action, struct str type, struct rows *ret)
{
    struct str detail = arena_printf(r->task.arena, "{\"template_type\":\"%.*s\"}", STR_ARG(type));
    struct db_call calls[] = {
        gateway_audit(r, action, "push_template", 0, detail),
        db_call(SQL_PUSH_TEMPLATE_GET(.template_type = type)),
    };

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    *ret = calls[1].rows;
    return sql_commit(r);
}

static int fail_type_taken(struct req *r)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    schema_error_add(r->task.arena,
                     errors,
                     STR("template_type"),
                     PROBLEM_UNIQUE_VIOLATION,
                     "belongs to another template");
    return fail_with(r,
                     PROBLEM_UNIQUE_VIOLATION,
                     STR("A template with this template_type already exists."),
                     errors);
}

/* --- endpoints --- */

static const struct query_param list_query[] = {
    PAGE_QUERY,
    {.name = "is_active",
     .type = FIELD_BOOL,
     .doc = "true: only active templates; false: only inactive templates"},
    {0},
};

AWAITS static int push_templates_list(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    struct str active = query_get(query, "is_active");
    return reply_page(r,
                      "template_type",
                      SQL_PUSH_TEMPLATES_LIST(.active = active.ptr
                                                            ? some_bool(str_is(active, "true"))
                                                            : NO_BOOL));
}

/* Reads the template's type from the path. Answers 404 for an invalid id, because the audit row
 * holds the type without escaping. */
static int path_template_type(struct req *r, struct str *ret_type)
{
    *ret_type = req_param(r, "template_type");
    return push_id_is_valid(*ret_type) ? 0 : fail(r, PROBLEM_NOT_FOUND, NULL);
}

AWAITS static int push_templates_get(struct req *r)
{
    struct rows rows;
    struct str type;

    TRY(path_template_type(r, &type));
    TRY(sql_one(r, &rows, SQL_PUSH_TEMPLATE_GET(.template_type = type)));
    return reply_row(r, 200, &rows);
}

/* A call of the statement push_template_add or push_template_save (push_templates.sql), which have
 * the same parameters. */
static struct db_call template_call(struct req *r,
                                    const struct sql *sql,
                                    struct str type,
                                    const struct sql_push_template_lock_row *template)
{
    return db_call_new(r->task.arena,
                       sql,
                       SQL_PUSH_TEMPLATE_ARGS(.template_type = type,
                                              .name = template->name,
                                              .title = template->title,
                                              .body = template->body,
                                              .image_url = template->image_url,
                                              .click_action = template->click_action,
                                              .category = template->category,
                                              .buttons = template->buttons,
                                              .is_active = template->is_active));
}

static const struct limit templates_limit = {
    "push_templates", "A project", "templates", TEMPLATES_MAX};

AWAITS static int push_templates_create(struct req *r)
{
    struct sql_push_template_lock_row template = {.is_active = true};
    struct template_in in;
    struct db_call count = db_call(SQL_PUSH_TEMPLATES_COUNT());
    struct rows rows;

    TRY(req_json(r, &create_schema, &in));
    struct str type = in.template_type.value;
    if (!push_id_is_valid(type))
        return fail_field(
            r,
            "template_type",
            PROBLEM_PATTERN,
            "must be printable ASCII without spaces, slashes, backslashes and quotes");
    TRY(push_content_check(r, &in.content));
    template_merge(r, &in, &template);
    TRY(sql_begin(r));
    TRY(limit_check(r, &templates_limit, 0, &count, 1));
    struct db_call add = template_call(r, &SQL_PUSH_TEMPLATE_ADD, type, &template);
    TRY(sql_batch(r, &add, 1));
    if (!add.rows.count)
        return fail_type_taken(r);
    TRY(template_commit(r, "push_templates.create", type, &rows));
    resp_header_printf(r, "Location", "%.*s/%.*s", STR_ARG(r->path), STR_ARG(type));
    return reply_row(r, 201, &rows);
}

AWAITS static int push_templates_update(struct req *r)
{
    struct template_in in;
    struct rows rows;
    struct str type;

    TRY(path_template_type(r, &type));
    TRY(req_json(r, &update_schema, &in));
    TRY(push_content_check(r, &in.content));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_PUSH_TEMPLATE_LOCK(.template_type = type)));
    struct sql_push_template_lock_row template = sql_push_template_lock_row(&rows, 0);
    template_merge(r, &in, &template);
    struct db_call save = template_call(r, &SQL_PUSH_TEMPLATE_SAVE, type, &template);
    TRY(sql_batch(r, &save, 1));
    TRY(template_commit(r, "push_templates.update", type, &rows));
    return reply_row(r, 200, &rows);
}

AWAITS static int push_templates_delete(struct req *r)
{
    struct rows rows;
    struct str type;

    TRY(path_template_type(r, &type));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_PUSH_TEMPLATE_REMOVE(.template_type = type)));
    TRY(template_commit(r, "push_templates.delete", type, &rows));
    return reply_empty(r, 204);
}

static const struct route push_templates_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/push/templates",
        .id = "push_templates_list",
        .auth = AUTH_ADMIN,
        .query = list_query,
        .success = {200, &out_schema, .list = true},
        .run = push_templates_list,
        .summary = "List templates of notifications",
    },
    {
        .method = HTTP_POST_M,
        .path = "/push/templates",
        .id = "push_templates_create",
        .auth = AUTH_ADMIN,
        .body = &create_schema,
        .success = {201, &out_schema},
        .extra_statuses = {409},
        .run = push_templates_create,
        .summary = "Create a template for notifications",
        .doc = "A workflow step or POST /push/test may name a template. The members that the step "
               "or the request has override those of the template.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/push/templates/{template_type}",
        .id = "push_templates_get",
        .auth = AUTH_ADMIN,
        .success = {200, &out_schema},
        .extra_statuses = {404},
        .run = push_templates_get,
        .summary = "Get a template",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/push/templates/{template_type}",
        .id = "push_templates_update",
        .auth = AUTH_ADMIN,
        .body = &update_schema,
        .success = {200, &out_schema},
        .extra_statuses = {404},
        .run = push_templates_update,
        .guard = push_templates_get,
        .summary = "Change a template; its template_type cannot be changed",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/push/templates/{template_type}",
        .id = "push_templates_delete",
        .auth = AUTH_ADMIN,
        .success = {204},
        .extra_statuses = {404},
        .run = push_templates_delete,
        .guard = push_templates_get,
        .summary = "Delete a template",
        .doc = "Workflow steps that name the template fail from then on.",
    },
};
ROUTES(push_templates, "Push");
