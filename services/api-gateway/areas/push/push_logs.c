/* /push/send-logs: sends and their outcomes. */
#include "areas/push/push.h"
#include "base/num.h"
#include "http/query.h"
#include "keyset.h"
#include "push_sends_sql.h"

static const char *const sources[] = {"Workflow", "Broadcast", "Test", NULL};
static const char *const statuses[] = {
    "Pending", "Running", "Succeeded", "Partial", "Failed", NULL};
static const char *const outcomes[] = {"pending", "delivered", "failed", "unregistered", NULL};

static const struct field result_fields[] = {
    {.name = "provider", .type = FIELD_STR, .required = true, .values = push_providers},
    {.name = "delivered", .type = FIELD_I64, .required = true},
    {.name = "failed", .type = FIELD_I64, .required = true},
    {.name = "unregistered",
     .type = FIELD_I64,
     .required = true,
     .doc = "Devices whose token turned out to be dead"},
};
static const struct schema result_schema = SCHEMA_OUT("PushResult", result_fields);

static const struct field log_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "source", .type = FIELD_STR, .required = true, .values = sources},
    {.name = "audience",
     .type = FIELD_MAP,
     .required = true,
     .nullable = true,
     .doc = "kind: user, users, entity or all, with its ids",
     .example = "{\"kind\":\"user\",\"user_id\":7}"},
    {.name = "status", .type = FIELD_STR, .required = true, .values = statuses},
    {.name = "results",
     .type = FIELD_LIST,
     .required = true,
     .sub = &result_schema,
     .doc = "Counts of results for each provider that has devices; while the send runs, the counts "
            "so far"},
    {.name = "targets", .type = FIELD_I64, .required = true, .doc = "Devices found so far"},
    {.name = "first_error",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .example = "\"QUOTA_EXCEEDED\""},
    {.name = "workflow_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "workflow_name", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "job_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "step_key", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "category", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "title", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "body_preview",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "The first 200 characters of the body"},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "started_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "finished_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "cancelled_at",
     .type = FIELD_TIME,
     .required = true,
     .nullable = true,
     .doc = "When the send was cancelled"},
};
static const struct schema log_schema = SCHEMA_OUT("PushSendLog", log_fields);

static const struct field delivery_fields[] = {
    {.name = "provider", .type = FIELD_STR, .required = true, .values = push_providers},
    {.name = "device_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "record_id",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "Instead of a device: the record whose field had the token"},
    {.name = "status", .type = FIELD_STR, .required = true, .values = outcomes},
    {.name = "code",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Why the notification was not delivered: a code of the provider, or a code of this "
            "service such as CANCELLED",
     .example = "\"UNREGISTERED\""},
    {.name = "tries", .type = FIELD_I64, .required = true},
    {.name = "ended_at", .type = FIELD_TIME, .required = true, .nullable = true},
};
static const struct schema delivery_schema = SCHEMA_OUT("PushDelivery", delivery_fields);

static const struct query_param logs_query[] = {
    KEYSET_QUERY,
    {.name = "source", .type = FIELD_STR, .values = sources, .doc = "Only sends from this source"},
    {.name = "status", .type = FIELD_STR, .values = statuses, .doc = "Only sends with this status"},
    {.name = "workflow_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Only sends of this workflow"},
    {0},
};
static const struct query_param deliveries_query[] = {
    KEYSET_QUERY,
    {.name = "provider",
     .type = FIELD_STR,
     .values = push_providers,
     .doc = "Only deliveries to devices of this provider"},
    {.name = "status",
     .type = FIELD_STR,
     .values = outcomes,
     .doc = "Only deliveries with this status"},
    {0},
};

static const struct keyset_list all_sends = {
    &SQL_PUSH_SENDS_DESC, &SQL_PUSH_SENDS_ASC, &SQL_PUSH_SENDS_COUNT, "id"};
static const struct keyset_list all_deliveries = {
    &SQL_PUSH_DELIVERIES_DESC, &SQL_PUSH_DELIVERIES_ASC, &SQL_PUSH_DELIVERIES_COUNT, "_place"};

AWAITS static int push_logs_list(struct req *r)
{
    const struct query *query;
    int64_t workflow_id = 0;

    TRY(req_query(r, &query));
    (void)num_parse_i64(query_get(query, "workflow_id"), &workflow_id);
    return keyset_reply(r,
                        &all_sends,
                        SQL_PUSH_SENDS_ARGS(.source = query_get(query, "source"),
                                            .status = query_get(query, "status"),
                                            .workflow_id = some_id(workflow_id)));
}

AWAITS static int push_logs_get(struct req *r)
{
    struct rows send;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &send, SQL_PUSH_SEND_GET(.id = id)));
    return reply_row(r, 200, &send);
}

AWAITS static int push_logs_deliveries(struct req *r)
{
    const struct query *query;
    struct rows send;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_query(r, &query));
    TRY(sql_one(r, &send, SQL_PUSH_SEND_GET(.id = id)));
    return keyset_reply(r,
                        &all_deliveries,
                        SQL_PUSH_DELIVERIES_ARGS(.send_id = id,
                                                 .provider = query_get(query, "provider"),
                                                 .status = query_get(query, "status")));
}

AWAITS static int push_logs_cancel(struct req *r)
{
    int64_t cancelled;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_exec(r, &cancelled, SQL_PUSH_SEND_CANCEL(.id = id)));
    struct db_call calls[] = {
        db_call(SQL_PUSH_SEND_GET(.id = id)),
        gateway_audit(r, "push_sends.cancel", "push_send", id, STR_NONE),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    if (!calls[0].rows.count)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    if (!cancelled)
        return fail(r, PROBLEM_CONFLICT, "The send has already ended.");
    TRY(sql_commit(r));
    return reply_row(r, 202, &calls[0].rows);
}

static const struct route push_logs_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/push/send-logs",
        .id = "push_logs_list",
        .auth = AUTH_ADMIN,
        .query = logs_query,
        .success = {200, &log_schema, .list = true},
        .run = push_logs_list,
        .summary = "List sends, newest first",
    },
    {
        .method = HTTP_GET_M,
        .path = "/push/send-logs/{id}",
        .id = "push_logs_get",
        .auth = AUTH_ADMIN,
        .success = {200, &log_schema},
        .extra_statuses = {404},
        .run = push_logs_get,
        .summary = "Get a send and its results so far",
    },
    {
        .method = HTTP_GET_M,
        .path = "/push/send-logs/{id}/deliveries",
        .id = "push_logs_deliveries",
        .auth = AUTH_ADMIN,
        .query = deliveries_query,
        .success = {200, &delivery_schema, .list = true},
        .extra_statuses = {404},
        .run = push_logs_deliveries,
        .summary = "List the deliveries of a send, one for each device",
    },
    {
        .method = HTTP_POST_M,
        .path = "/push/send-logs/{id}/cancel",
        .id = "push_logs_cancel",
        .auth = AUTH_ADMIN,
        .success = {202, &log_schema},
        .extra_statuses = {404, 409},
        .run = push_logs_cancel,
        .guard = push_logs_get,
        .summary = "Stop a send",
        .doc = "Requests to providers that are in flight are not stopped. Deliveries to the "
               "remaining devices fail with the code CANCELLED. 409 when the send has already "
               "ended.",
    },
};
ROUTES(push_logs, "Push");
