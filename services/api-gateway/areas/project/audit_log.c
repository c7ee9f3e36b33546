/* GET /audit-log: administrative changes, newest first. */
#include "audit_log_sql.h"
#include "walk.h"

static const struct field audit_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "at", .type = FIELD_TIME, .required = true},
    {.name = "actor_kind",
     .type = FIELD_STR,
     .required = true,
     .doc = "user, api_key, operator or system"},
    {.name = "actor_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "action", .type = FIELD_STR, .required = true, .example = "\"users.update\""},
    {.name = "target", .type = FIELD_STR, .required = true, .example = "\"user\""},
    {.name = "target_id", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "detail", .type = FIELD_MAP, .required = true, .doc = "What changed, never secrets"},
    {.name = "request_id", .type = FIELD_STR, .required = true, .nullable = true},
};
static const struct schema audit_schema = SCHEMA_OUT("AuditEntry", audit_fields);

static const struct walk_list audit_log = {
    &SQL_AUDIT_LOG_DESC, &SQL_AUDIT_LOG_ASC, &SQL_AUDIT_LOG_COUNT, "id"};

AWAITS static int audit_log_list(struct req *r)
{
    return walk_reply(r, &audit_log, NULL, 0);
}

static const struct route audit_log_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/audit-log",
        .id = "audit_log_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AUDIT_LOG_READ,
        .query = walk_query,
        .ok = {200, &audit_schema, .list = true},
        .run = audit_log_list,
        .summary = "List administrative changes, newest first",
    },
};
ROUTES(audit_log, "Project");
