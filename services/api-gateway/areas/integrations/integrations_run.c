/* Runs operations of integrations, and lists calls. */
#include "areas/integrations/integrations.h"

#include <errno.h>

#include "base/clock.h"
#include "connections_sql.h"
#include "db/answer.h"
#include "http/query.h"
#include "integrations/use.h"
#include "integrations_sql.h"
#include "json/jr.h"
#include "keyset.h"

#define CALL_MARGIN_MS 300 /* the call times out this long before the request */
#define TREE_BYTES     ((uint64_t)16 << 20)

static const char *const outcomes[] = {"running", "answered", "failed", "unknown", NULL};
static const char *const actor_kinds[] = {"user", "api_key", "job", NULL};

static const struct field actor_fields[] = {
    {.name = "kind", .type = FIELD_STR, .required = true, .values = actor_kinds},
    {.name = "id",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "Id of the user or API key"},
    {.name = "job_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "user_id",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "User whose rights the call had"},
};
static const struct schema actor_schema = SCHEMA_OUT("IntegrationCallActor", actor_fields);

static const struct field call_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "integration_id", .type = FIELD_I64, .required = true},
    {.name = "operation", .type = FIELD_STR, .required = true, .example = "\"getUser\""},
    {.name = "connection_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "actor", .type = FIELD_OBJ, .required = true, .sub = &actor_schema},
    {.name = "method", .type = FIELD_STR, .required = true, .example = "\"GET\""},
    {.name = "url",
     .type = FIELD_STR,
     .required = true,
     .doc = "First 1,000 bytes, without credentials and with secret values masked",
     .example = "\"https://api.example.com/v1/users/7\""},
    {.name = "outcome",
     .type = FIELD_STR,
     .required = true,
     .values = outcomes,
     .doc = "unknown: the calling process died; the operation may have been carried out"},
    {.name = "status_code", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "code",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Why there is no answer",
     .example = "\"unreachable\""},
    {.name = "tries",
     .type = FIELD_I64,
     .required = true,
     .doc = "Requests that were sent, with those for redirects and new tokens"},
    {.name = "response_bytes", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "duration_ms", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "at", .type = FIELD_TIME, .required = true},
    {.name = "finished_at", .type = FIELD_TIME, .required = true, .nullable = true},
};
static const struct schema call_schema = SCHEMA_OUT("IntegrationCall", call_fields);

/* --- run --- */

struct run_in {
    struct in_i64 connection_id;
    struct in_json params;
};

static const struct field run_fields[] = {
    {.name = "connection_id",
     FIELD_AT(struct run_in, connection_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "When left out: the only connection of the caller, or else the only connection of the "
            "project"},
    {.name = "params",
     FIELD_AT(struct run_in, params),
     .type = FIELD_MAP,
     .nullable = true,
     .doc = "Values of the operation's parameters, by name",
     .example = "{\"user_id\": 7}"},
};
static const struct schema run_schema = SCHEMA("IntegrationRun", struct run_in, run_fields);

static const struct field answer_fields[] = {
    {.name = "call_id", .type = FIELD_I64, .required = true},
    {.name = "ok", .type = FIELD_BOOL, .required = true, .doc = "Whether the status is 2xx"},
    {.name = "status_code", .type = FIELD_I64, .required = true, .example = "200"},
    {.name = "headers",
     .type = FIELD_MAP,
     .required = true,
     .doc = "Headers of the answer, by lower-case name: at most 8 KB, without headers that carry "
            "credentials, such as Set-Cookie",
     .example = "{\"content-type\": \"application/json\"}"},
    {.name = "data",
     .type = FIELD_JSON,
     .required = true,
     .nullable = true,
     .doc =
         "The part of the answer that the operation returns; the whole answer when the status is "
         "not 2xx. A text when the answer is not JSON, or its Content-Type is a text. Credentials "
         "are masked"},
    {.name = "duration_ms", .type = FIELD_I64, .required = true},
};
static const struct schema answer_schema = SCHEMA_OUT("IntegrationAnswer", answer_fields);

/* Answers with the problem for the reason of INTEGRATION_FAILED: use->findings if there are any,
 * else use->error. */
static int run_refuse(struct req *r, const struct integration_use *use)
{
    const struct connection_error *error = &use->error;

    if (use->findings != NULL)
        return fail_fields(r, use->findings);
    switch (error->problem) {
    case PROBLEM_NOT_FOUND:
    case PROBLEM_CONFLICT:
    case PROBLEM_DEPENDENCY_UNAVAILABLE:
        return fail(r, error->problem, "%.*s", STR_ARG(error->message));
    case PROBLEM_BUSY:
        return fail(r, PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT, "%.*s", STR_ARG(error->message));
    default:
        return fail(r, PROBLEM_PROVIDER_ERROR, "%.*s", STR_ARG(error->message));
    }
}

static int run_check(struct req *r, const struct integration_use *use, int rc)
{
    if (rc == INTEGRATION_FAILED)
        return run_refuse(r, use);
    if (rc == INTEGRATION_BAD)
        return fail_internal(r, -EBADMSG);
    return sql_check(r, rc);
}

AWAITS static int run_reply(struct req *r, struct integration_use *use)
{
    json_t *data;
    struct jw w;

    TRY(run_check(r, use, integration_read_answer(&r->task, use, &data)));
    w = resp_json(r);
    jw_obj(&w);
    JW_I64(&w, "call_id", use->call_id);
    JW_BOOL(&w, "ok", integration_has_succeeded(use));
    JW_I64(&w, "status_code", use->response.status);
    jw_lit(&w, "headers");
    jw_json(&w, use->headers);
    jw_lit(&w, "data");
    jw_json(&w, data);
    JW_I64(&w, "duration_ms", use->duration_ms);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* co: Answers when the project's memory budget allows the JSON tree. One megabyte of text may
 * become a tree of eighty megabytes. */
AWAITS static int run_reply_within_budget(struct req *r, struct integration_use *use)
{
    uint64_t bytes = jr_tree_bytes(use->answer.text);
    struct share *share;

    if (bytes > TREE_BYTES)
        return fail(r, PROBLEM_PROVIDER_ERROR, "The answer holds too many values.");
    if (bytes == 0)
        return run_reply(r, use);
    int rc =
        shares_acquire(&r->task, db_answers_shares(), share_owner_of(&r->task), bytes, 0, &share);
    if (rc == -EAGAIN)
        return fail(r,
                    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
                    "Too many large answers of this project are in memory; try again.");
    TRY(rc);
    rc = run_reply(r, use);
    shares_release(db_answers_shares(), share, bytes);
    return rc;
}

/* Finds the integration and its operation, which is the first step of integration_prepare(). */
AWAITS static int operation_guard(struct req *r)
{
    struct integration_use *use = ARENA_NEW(r->task.arena, use);
    struct str operation;

    TRY(req_id(r, "id", &use->integration_id));
    use->project = r->scope->project;
    use->operation = req_param(r, "name");
    if (!integration_name_ok(use->operation))
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    return run_check(r, use, integration_load(&r->task, use, &operation));
}

AWAITS static int integrations_run(struct req *r)
{
    struct integration_use *use = ARENA_NEW(r->task.arena, use);
    struct run_in in;

    TRY(req_id(r, "id", &use->integration_id));
    TRY(req_json(r, &run_schema, &in));
    use->project = r->scope->project;
    use->caller = r->scope->caller;
    use->operation = req_param(r, "name");
    use->connection_id = in.connection_id.value;
    use->params = in.params.value;
    use->traceparent = gateway_traceparent(r);
    use->deadline_ms = r->task.deadline_ms ? r->task.deadline_ms - CALL_MARGIN_MS : 0;
    if (!integration_name_ok(use->operation))
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    TRY(run_check(r, use, integration_prepare(&r->task, use)));
    int rc = integration_send(&r->task, use);
    rc = rc == 0 ? run_reply_within_budget(r, use) : run_check(r, use, rc);
    fetch_budget_release(&use->room);
    return rc;
}

/* --- calls --- */

static const struct query_param integration_calls_query[] = {
    KEYSET_QUERY,
    {.name = "operation", .type = FIELD_STR, .doc = "Only calls of this operation"},
    {0},
};

static const struct keyset_list calls_of_integration = {
    &SQL_INTEGRATION_CALLS_DESC, &SQL_INTEGRATION_CALLS_ASC, &SQL_INTEGRATION_CALLS_COUNT, "id"};
static const struct keyset_list calls_of_connection = {
    &SQL_CONNECTION_CALLS_DESC, &SQL_CONNECTION_CALLS_ASC, &SQL_CONNECTION_CALLS_COUNT, "id"};

AWAITS static int integrations_calls(struct req *r)
{
    const struct query *query;
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_query(r, &query));
    TRY(sql_one(r, &rows, SQL_INTEGRATION_GET(.id = id)));
    return keyset_reply(r,
                        &calls_of_integration,
                        SQL_INTEGRATION_CALLS_ARGS(.integration_id = id,
                                                   .operation = query_get(query, "operation"),
                                                   .everybody = caller_is_admin(r->scope->caller),
                                                   .user_id = r->scope->caller->user_id));
}

AWAITS static int connections_calls(struct req *r)
{
    const struct query *query;
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_query(r, &query));
    TRY(sql_one(r,
                &rows,
                SQL_CONNECTION_GET(.id = id,
                                   .everybody = caller_is_admin(r->scope->caller),
                                   .user_id = r->scope->caller->user_id)));
    return keyset_reply(r, &calls_of_connection, SQL_CONNECTION_CALLS_ARGS(.connection_id = id));
}

static const struct route integrations_run_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/integrations/{id}/operations/{name}/run",
        .id = "integrations_run",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_READ,
        .body = &run_schema,
        .success = {200, &answer_schema},
        .extra_statuses = {404, 409, 502},
        .run = integrations_run,
        .guard = operation_guard,
        .summary = "Run an operation of a third-party API",
        .doc =
            "The request to the API is sent once. Only when the API refuses the connection's "
            "token, the request is sent again with a new token. Every answer of the API gives "
            "status 200 here, and status_code has the status of the API. 502 means that the API "
            "did not answer in time, that its answer is too large or cannot be read, or that the "
            "address of the API is not allowed. A redirect counts as an answer, unless the "
            "operation follows redirects. A redirect to another host is never followed.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/integrations/{id}/calls",
        .id = "integrations_calls",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_READ,
        .query = integration_calls_query,
        .success = {200, &call_schema, .list = true},
        .extra_statuses = {404},
        .run = integrations_calls,
        .summary = "List the calls of an integration, newest first",
        .doc = "Calls through a user's own connection are visible to that user and to "
               "administrators only. Calls are kept for thirty days, and about fifty thousand of "
               "a project.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/connections/{id}/calls",
        .id = "connections_calls",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_READ,
        .query = keyset_query,
        .success = {200, &call_schema, .list = true},
        .extra_statuses = {404},
        .run = connections_calls,
        .summary = "List the calls through a connection, newest first",
    },
};
ROUTES(integrations_run, "Integrations");
