/* /audit-log: administrative changes, newest first. */
#include "audit_log_sql.h"
#include "base/num.h"
#include "http/query.h"
#include "keyset.h"

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
    {.name = "detail", .type = FIELD_MAP, .required = true, .doc = "What changed, without secrets"},
    {.name = "request_id", .type = FIELD_STR, .required = true, .nullable = true},
};
static const struct schema audit_schema = SCHEMA_OUT("AuditEntry", audit_fields);

static const struct keyset_list audit_log = {
    &SQL_AUDIT_LOG_DESC, &SQL_AUDIT_LOG_ASC, &SQL_AUDIT_LOG_COUNT, "id"};

static const char *const actor_kinds[] = {"user", "api_key", "operator", "system", NULL};

/* clang-format off: one line per parameter is easier to read */
static const struct query_param audit_query[] = {
    KEYSET_QUERY,
    {.name = "actor",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Only entries of the user or API key with this id"},
    {.name = "kind",
     .type = FIELD_STR,
     .values = actor_kinds,
     .doc = "Only entries of actors of this kind"},
    {.name = "action",
     .type = FIELD_STR,
     .doc = "Only entries with this action, for example users.update"},
    {.name = "target",
     .type = FIELD_STR,
     .doc =
         "Only entries with this target, for example user, or with this target and target_id, for "
         "example user/5"},
    {.name = "since", .type = FIELD_TIME, .doc = "Only entries from this time (RFC 3339) on"},
    {.name = "until", .type = FIELD_TIME, .doc = "Only entries before this time"},
    {0},
};
/* clang-format on */

static struct opt_i64 read_actor(struct str text)
{
    int64_t id;

    return text.ptr && num_parse_i64(text, &id) ? some_i64(id) : NO_I64;
}

AWAITS static int audit_log_list(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    struct str target_id = query_get(query, "target");
    struct str target = target_id.ptr ? str_split(&target_id, '/') : STR_NONE;
    return keyset_reply(r,
                        &audit_log,
                        SQL_AUDIT_LOG_ARGS(.actor = read_actor(query_get(query, "actor")),
                                           .kind = query_get(query, "kind"),
                                           .action = query_get(query, "action"),
                                           .target = target,
                                           .target_id = target_id,
                                           .since = query_time(query, "since"),
                                           .until = query_time(query, "until")));
}

AWAITS static int audit_log_get(struct req *r)
{
    struct rows entry;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &entry, SQL_AUDIT_LOG_ENTRY(.id = id)));
    return reply_row(r, 200, &entry);
}

static const struct route audit_log_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/audit-log",
        .id = "audit_log_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AUDIT_LOG_READ,
        .query = audit_query,
        .success = {200, &audit_schema, .list = true},
        .run = audit_log_list,
        .summary = "List administrative changes, newest first",
    },
    {
        .method = HTTP_GET_M,
        .path = "/audit-log/{id}",
        .id = "audit_log_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AUDIT_LOG_READ,
        .success = {200, &audit_schema},
        .extra_statuses = {404},
        .run = audit_log_get,
        .summary = "Read an administrative change",
    },
};
ROUTES(audit_log, "Project");
