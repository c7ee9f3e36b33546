/* /workflows: listing, reading, saving and deleting workflows. workflows_save.c does the saving. */
#include "areas/workflows/workflows.h"

#include "ddl/model_change.h"
#include "http/query.h"
#include "items/items.h"
#include "workflow/jobs.h"
#include "workflow_stops_sql.h"
#include "workflows_sql.h"

static const struct query_param list_query[] = {
    PAGE_QUERY,
    {.name = "enabled",
     .type = FIELD_BOOL,
     .doc = "true: only enabled workflows; false: only disabled workflows"},
    {.name = "kind",
     .type = FIELD_STR,
     .values = workflow_trigger_kinds,
     .doc = "Only workflows with this kind of trigger"},
    {0},
};

AWAITS static int workflows_list(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    struct str enabled = query_get(query, "enabled");
    return reply_page(
        r,
        "id",
        SQL_WORKFLOWS_LIST(.enabled = enabled.ptr ? some_bool(str_is(enabled, "true")) : NO_BOOL,
                           .kind = query_get(query, "kind")));
}

AWAITS static int workflows_read_body(struct req *r, int64_t id, int64_t *ret_version)
{
    struct rows workflow;

    TRY(sql_one(r, &workflow, SQL_WORKFLOW_GET(.id = id)));
    (void)reply_row(r, 200, &workflow);
    *ret_version = sql_workflow_row(&workflow, 0).version;
    return 0;
}

AWAITS static int read_workflow(struct req *r, int64_t id)
{
    int64_t version;

    TRY(workflows_read_body(r, id, &version));
    return items_etag(r, version);
}

AWAITS static int workflows_get(struct req *r)
{
    int64_t version;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(workflows_read_body(r, id, &version));
    TRY(items_etag_or_304(r, version));
    return 200;
}

AWAITS static int workflows_create(struct req *r)
{
    struct workflow_in in;
    int64_t id;

    TRY(req_json(r, &workflow_create_schema, &in));
    TRY(workflow_save(r, &in, 0, &id));
    TRY(read_workflow(r, id));
    reply_location(r, id);
    return reply_json(r, 201);
}

AWAITS static int workflows_update(struct req *r)
{
    struct workflow_in in;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &workflow_update_schema, &in));
    TRY(workflow_save(r, &in, id, &id));
    TRY(read_workflow(r, id));
    return reply_json(r, 200);
}

/* --- delete --- */

struct removal {
    int64_t id;
    struct items_match match;
    struct rows running; /* ids of running jobs that were cancelled */
};

AWAITS static int remove_workflow(struct req *r, void *arg, struct model_audit *audit)
{
    struct removal *removal = arg;
    struct rows workflow;

    TRY(sql_one(r, &workflow, SQL_WORKFLOW_LOCK(.id = removal->id)));
    TRY(workflow_check_version(r, &removal->match, sql_workflow_lock_row(&workflow, 0).version));
    struct db_call calls[] = {
        db_call(SQL_WORKFLOW_UNLISTEN(.workflow_id = removal->id)),
        db_call(SQL_WORKFLOW_REMOVE(.id = removal->id)),
        /* runners stop the jobs that the next two statements leave */
        db_call(SQL_STOP_MARK(.workflow_id = removal->id, .deleted = true)),
        db_call(SQL_STOP_QUEUED(.workflow_id = removal->id, .deleted = true)),
        db_call(SQL_STOP_RUNNING(.workflow_id = removal->id)),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    removal->running = calls[4].rows;
    *audit = (struct model_audit){"workflows.delete", "workflow", removal->id, STR_NONE};
    return 0;
}

AWAITS static int workflows_delete(struct req *r)
{
    struct removal removal = {0};

    TRY(req_id(r, "id", &removal.id));
    TRY(items_if_match(r, &removal.match));
    TRY(model_change(r, remove_workflow, &removal));
    for (size_t i = 0; i < removal.running.count; i++)
        jobs_notify_cancel(
            gateway_directory(), r->scope->project, sql_stop_running_row(&removal.running, i).id);
    return reply_empty(r, 204);
}

/* --- versions --- */

static const struct keyset_list versions = {&SQL_WORKFLOW_VERSIONS_DESC,
                                            &SQL_WORKFLOW_VERSIONS_ASC,
                                            &SQL_WORKFLOW_VERSIONS_COUNT,
                                            "version"};

AWAITS static int workflows_versions(struct req *r)
{
    struct rows workflow;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &workflow, SQL_WORKFLOW_EXISTS(.id = id)));
    return keyset_reply(r, &versions, SQL_WORKFLOW_VERSIONS_ARGS(.workflow_id = id));
}

AWAITS static int workflows_version_get(struct req *r)
{
    struct rows version;
    int64_t id;
    int64_t number;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "version", &number));
    TRY(sql_one(r, &version, SQL_WORKFLOW_VERSION_GET(.workflow_id = id, .version = number)));
    return reply_row(r, 200, &version);
}

#define CHECK_DOC                                                                                  \
    "The workflow is checked as a whole: steps and their parameters, links between steps, steps "  \
    "that cannot be reached, entities and fields, secrets, times and routes. A finding names the " \
    "step: steps[2] (save).params.entity. Jobs run with the rights of the workflow's editor, the " \
    "caller who last changed the trigger, the steps or their parameters. A change of names, "      \
    "enabling or disabling does not change the editor. To save steps that name a secret, the "     \
    "editor needs svc_secrets:read."

static const struct route workflows_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/workflows",
        .id = "workflows_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_READ,
        .query = list_query,
        .success = {200, &workflow_schema, .list = true},
        .run = workflows_list,
        .summary = "List workflows",
    },
    {
        .method = HTTP_POST_M,
        .path = "/workflows",
        .id = "workflows_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_CREATE,
        .body = &workflow_create_schema,
        .success = {201, &workflow_schema},
        .extra_statuses = {409},
        .run = workflows_create,
        .summary = "Create a workflow",
        .doc = CHECK_DOC,
    },
    {
        .method = HTTP_GET_M,
        .path = "/workflows/{id}",
        .id = "workflows_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_READ,
        .headers = HEADER_IF_NONE_MATCH,
        .success = {200, &workflow_schema},
        .extra_statuses = {404},
        .run = workflows_get,
        .summary = "Read a workflow",
        .doc = "The answer has an ETag.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/workflows/{id}",
        .id = "workflows_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_UPDATE,
        .headers = HEADER_IF_MATCH,
        .body = &workflow_update_schema,
        .success = {200, &workflow_schema},
        .extra_statuses = {404, 409},
        .run = workflows_update,
        .guard = workflows_get,
        .summary = "Change a workflow",
        .doc =
            "Members that are left out keep their value; trigger and steps are replaced as a "
            "whole. The first step becomes the start step when the new steps do not have the old "
            "start step. Jobs that are already queued run the version they were queued with; "
            "queued jobs of a disabled workflow are skipped (workflow_disabled). " CHECK_DOC,
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/workflows/{id}",
        .id = "workflows_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_DELETE,
        .headers = HEADER_IF_MATCH,
        .success = {204},
        .extra_statuses = {404},
        .run = workflows_delete,
        .guard = workflows_get,
        .summary = "Delete a workflow with its versions",
        .doc = "The workflow no longer starts. Jobs of the workflow that have not ended are "
               "cancelled; when there are many jobs, some are cancelled after the answer. All jobs "
               "of the workflow can still be read.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/workflows/{id}/versions",
        .id = "workflows_versions",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_READ,
        .query = keyset_query,
        .success = {200, &workflow_version_listed_schema, .list = true},
        .extra_statuses = {404},
        .run = workflows_versions,
        .summary = "List the versions of a workflow, newest first",
    },
    {
        .method = HTTP_GET_M,
        .path = "/workflows/{id}/versions/{version}",
        .id = "workflows_version_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WORKFLOWS_READ,
        .success = {200, &workflow_version_schema},
        .extra_statuses = {404},
        .run = workflows_version_get,
        .summary = "Read a version of a workflow",
    },
};
ROUTES(workflows, "Workflows");
