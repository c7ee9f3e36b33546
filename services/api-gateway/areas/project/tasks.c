/* /tasks: the caller's long-running work, such as imports, with progress and errors. */
#include "app.h"
#include "tasks_sql.h"

static const char *const task_statuses[] = {
    "queued", "running", "succeeded", "partial", "failed", "cancelled", NULL};

static const struct field task_error_fields[] = {
    {.name = "row", .type = FIELD_I64, .required = true, .doc = "Row of the upload, from 1"},
    {.name = "code", .type = FIELD_STR, .required = true},
    {.name = "detail", .type = FIELD_STR, .required = true},
};
static const struct schema task_error_schema = SCHEMA_OUT("TaskError", task_error_fields);

static const struct field task_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "kind", .type = FIELD_STR, .required = true, .example = "\"import\""},
    {.name = "status", .type = FIELD_STR, .required = true, .values = task_statuses},
    {.name = "total", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "done", .type = FIELD_I64, .required = true},
    {.name = "failed", .type = FIELD_I64, .required = true},
    {.name = "errors",
     .type = FIELD_LIST,
     .required = true,
     .sub = &task_error_schema,
     .doc = "At most 100 errors"},
    {.name = "created_by", .type = FIELD_I64, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
    {.name = "finished_at", .type = FIELD_TIME, .required = true, .nullable = true},
};
static const struct schema task_schema = SCHEMA_OUT("Task", task_fields);

AWAITS static int tasks_list(struct req *r)
{
    return reply_page(r,
                      "-id",
                      SQL_TASKS_LIST(.all = caller_is_admin(r->scope->caller),
                                     .user_id = r->scope->caller->user_id));
}

AWAITS static int tasks_get(struct req *r)
{
    struct rows task;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r,
                &task,
                SQL_TASK_GET(.id = id,
                             .all = caller_is_admin(r->scope->caller),
                             .user_id = r->scope->caller->user_id)));
    return reply_row(r, 200, &task);
}

static const struct route tasks_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/tasks",
        .id = "tasks_list",
        .auth = AUTH_USER_OR_KEY,
        .query = page_query,
        .success = {200, &task_schema, .list = true},
        .run = tasks_list,
        .summary = "List the caller's long-running tasks; administrators see all tasks",
    },
    {
        .method = HTTP_GET_M,
        .path = "/tasks/{id}",
        .id = "tasks_get",
        .auth = AUTH_USER_OR_KEY,
        .success = {200, &task_schema},
        .extra_statuses = {404},
        .run = tasks_get,
        .summary = "Get a task with its progress and errors",
    },
};
ROUTES(tasks, "Tasks");
