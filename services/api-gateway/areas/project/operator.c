/* /healthz, which is public, and /org: the operator lists, creates, reads and deletes projects with
 * the operator token. */
#include "app.h"
#include "auth_password.h"
#include "operator_sql.h"

#define RETRY_PAUSE_MS 250

struct administrator_in {
    struct in_str email;
    struct in_str password;
};

static const struct field administrator_fields[] = {
    {.name = "email",
     FIELD_AT(struct administrator_in, email),
     .type = FIELD_STR,
     .required = true,
     .format = "email",
     .example = "\"admin@example.com\""},
    {.name = "password",
     FIELD_AT(struct administrator_in, password),
     .type = FIELD_STR,
     .required = true,
     .write_only = true,
     .min = 8,
     .max = 1024,
     .format = "password"},
};
static const struct schema administrator_schema =
    SCHEMA("ProjectAdministrator", struct administrator_in, administrator_fields);

struct project_create_in {
    struct in_str project_id;
    struct in_str name;
    struct in_obj admin; /* struct administrator_in */
};

static const struct field project_create_fields[] = {
    {.name = "project_id",
     FIELD_AT(struct project_create_in, project_id),
     .type = FIELD_STR,
     .required = true,
     .format = "slug",
     .doc = "Part of the project's address; cannot be changed",
     .example = "\"shop\""},
    {.name = "name",
     FIELD_AT(struct project_create_in, name),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = 200,
     .example = "\"Shop\""},
    {.name = "admin",
     FIELD_AT(struct project_create_in, admin),
     .type = FIELD_OBJ,
     .required = true,
     .sub = &administrator_schema,
     .doc = "The project's first administrator"},
};
static const struct schema project_create_schema =
    SCHEMA("ProjectCreate", struct project_create_in, project_create_fields);

#define PROJECT_MEMBERS                                                                            \
    {.name = "id", .type = FIELD_I64, .required = true, .doc = "Number of the project"},           \
        {.name = "project_id", .type = FIELD_STR, .required = true, .format = "slug"},             \
        {.name = "name", .type = FIELD_STR, .required = true},                                     \
        {.name = "state",                                                                          \
         .type = FIELD_STR,                                                                        \
         .required = true,                                                                         \
         .values = (const char *const[]){"creating", "active", "deleting", NULL}},                 \
        {.name = "base_url", .type = FIELD_STR, .required = true},                                 \
        {.name = "created_at", .type = FIELD_TIME, .required = true},                              \
    {                                                                                              \
        .name = "updated_at", .type = FIELD_TIME, .required = true                                 \
    }

static const struct field listed_fields[] = {PROJECT_MEMBERS};
static const struct schema listed_schema = SCHEMA_OUT("OperatorProject", listed_fields);

static const struct field inspected_fields[] = {
    PROJECT_MEMBERS,
    {.name = "users", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "entities", .type = FIELD_I64, .required = true, .nullable = true},
};
static const struct schema inspected_schema = SCHEMA_OUT("OperatorProjectDetail", inspected_fields);

static const struct field health_fields[] = {
    {.name = "status", .type = FIELD_STR, .required = true},
};
static const struct schema health_schema = SCHEMA_OUT("Health", health_fields);

AWAITS static int operator_health(struct req *r)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_CSTR(&w, "status", "ok");
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int operator_list(struct req *r)
{
    return reply_page(r, "project_id", SQL_OPERATOR_LIST(.url = gateway_url(r)));
}

AWAITS static int read_project(struct req *r, struct str slug, struct rows *ret_project)
{
    return sql_one(r, ret_project, SQL_OPERATOR_GET(.slug = slug, .url = gateway_url(r)));
}

/* co: Reads the project that was just created. Retries while the database is unavailable, for
 * example because all connections are in use: the project exists, so the answer should not be 503.
 */
AWAITS static int project_read_created(struct req *r, struct str slug, struct rows *ret_project)
{
    int rc;

    do
        rc = db_query(&r->task,
                      r->scope->db,
                      SQL_OPERATOR_GET(.slug = slug, .url = gateway_url(r)),
                      ret_project);
    while (rc == DB_UNAVAILABLE && task_sleep(&r->task, RETRY_PAUSE_MS) == 0);
    if (rc == 0 && ret_project->count == 0)
        return fail(r, PROBLEM_CONFLICT, "The project was deleted right after it was created.");
    return rc > 0 ? fail_db(r, rc) : rc;
}

AWAITS static int operator_create(struct req *r)
{
    struct project_create_in in;
    struct project_create create;
    struct project *project;
    struct rows row;
    int rc;

    TRY(req_json(r, &project_create_schema, &in));
    const struct administrator_in *admin = in.admin.value;
    TRY(auth_password_policy(r, "admin.password", admin->password.value));
    create = (struct project_create){
        .slug = in.project_id.value,
        .name = in.name.value,
        .admin_email = admin->email.value,
    };
    TRY(auth_password_hash(r, admin->password.value, &create.admin_password_hash));
    rc = project_create(&r->task, gateway_directory(), &create, &project);
    if (rc == PROJECT_EXISTS)
        return fail(r, PROBLEM_ALREADY_EXISTS, "A project with this project_id already exists.");
    if (rc > 0)
        return fail_db(r, rc);
    if (rc < 0)
        return rc;
    TRY(project_read_created(r, create.slug, &row));
    resp_header_printf(r, "Location", "/org/%.*s", STR_ARG(create.slug));
    return reply_row(r, 201, &row);
}

/* co: Writes the counts of users and entities; null when the project cannot be opened, for example
 * while the project is being created or deleted. */
AWAITS static int write_counts(struct req *r, struct jw *w, struct str slug)
{
    struct project *project;
    struct rows counts;
    int rc = project_find(&r->task, gateway_directory(), slug, &project);

    if (rc < 0)
        return rc;
    if (rc > 0) {
        JW_NULL(w, "users");
        JW_NULL(w, "entities");
        return 0;
    }
    r->scope->db = &project->db;
    TRY(sql_one(r, &counts, SQL_OPERATOR_COUNTS()));
    rows_json_members(w, &counts, 0);
    return 0;
}

AWAITS static int operator_get(struct req *r)
{
    struct str slug = req_param(r, "project_id");
    struct rows row;
    struct jw w;

    TRY(read_project(r, slug, &row));
    w = resp_json(r);
    jw_obj(&w);
    rows_json_members(&w, &row, 0);
    TRY(write_counts(r, &w, slug));
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct query_param delete_query[] = {
    {.name = "confirm", .type = FIELD_STR, .doc = "Repeat the project_id to confirm the deletion"},
    {0},
};

AWAITS static int operator_delete(struct req *r)
{
    struct str slug = req_param(r, "project_id");
    const struct query *query;
    struct project *project;
    int rc;

    TRY(req_query(r, &query));
    rc = project_find(&r->task, gateway_directory(), slug, &project);
    if (rc == PROJECT_NOT_FOUND)
        return fail(r, PROBLEM_NOT_FOUND, "There is no such project.");
    if (rc > 0)
        return fail(r,
                    PROBLEM_DEPENDENCY_UNAVAILABLE,
                    "The project cannot be reached right now; try again later.");
    if (rc < 0)
        return rc;
    if (!str_eq(query_get(query, "confirm"), slug))
        return fail_field(r,
                          "confirm",
                          PROBLEM_REQUIRED,
                          "repeat the project_id as ?confirm=%.*s",
                          STR_ARG(slug));
    rc = project_delete(&r->task, gateway_directory(), project);
    if (rc == PROJECT_NOT_FOUND)
        return fail(r, PROBLEM_NOT_FOUND, "There is no such project.");
    if (rc > 0)
        return fail_db(r, rc);
    return rc < 0 ? rc : reply_empty(r, 204);
}

static const struct route operator_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/healthz",
        .id = "operator_health",
        .auth = AUTH_PUBLIC,
        .success = {200, &health_schema},
        .run = operator_health,
        .summary = "Check whether the gateway is alive",
    },
    {
        .method = HTTP_GET_M,
        .path = "/org",
        .id = "operator_list",
        .auth = AUTH_OPERATOR,
        .query = page_query,
        .success = {200, &listed_schema, .list = true},
        .run = operator_list,
        .summary = "List the projects",
    },
    {
        .method = HTTP_POST_M,
        .path = "/org",
        .id = "operator_create",
        .auth = AUTH_OPERATOR,
        .body = &project_create_schema,
        .success = {201, &listed_schema},
        .extra_statuses = {409},
        .run = operator_create,
        .timeout_ms = 60000,
        .summary = "Create a project that can be used immediately",
    },
    {
        .method = HTTP_GET_M,
        .path = "/org/{project_id}",
        .id = "operator_get",
        .auth = AUTH_OPERATOR,
        .success = {200, &inspected_schema},
        .extra_statuses = {404},
        .run = operator_get,
        .summary = "Inspect a project",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/org/{project_id}",
        .id = "operator_delete",
        .auth = AUTH_OPERATOR,
        .query = delete_query,
        .success = {204},
        .extra_statuses = {404},
        .run = operator_delete,
        .timeout_ms = 180000,
        .summary = "Delete a project with everything in it",
    },
};

const struct route_table operator_table = {
    "", operator_routes, ARRAY_LEN(operator_routes), "Operator"};
