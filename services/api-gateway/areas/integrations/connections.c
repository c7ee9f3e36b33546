/* /connections: credentials for integrations. Answers never contain their secrets. */
#include "areas/integrations/integrations.h"

#include <errno.h>

#include "base/num.h"
#include "base/secret_mask.h"
#include "connections_sql.h"
#include "http/query.h"
#include "integrations/connection.h"
#include "json/jr.h"
#include "limit.h"

#define SECRET_CHARS 8192

static const char *const connection_statuses[] = {"pending", "active", "failed", "revoked", NULL};

struct credentials_in {
    struct in_str token, username, password, client_id, client_secret, access_token, refresh_token;
};
struct connection_in {
    struct in_i64 integration_id;
    struct in_str name;
    struct in_bool own;
    struct in_obj credentials;
};

/* clang-format off */
#define CREDENTIAL(member, hidden, about, sample)                                                  \
    {.name = #member, FIELD_AT(struct credentials_in, member), .type = FIELD_STR, .min = 1,        \
     .max = SECRET_CHARS, .write_only = (hidden), .doc = (about), .example = (sample)}
/* clang-format on */

static const struct field credentials_fields[] = {
    CREDENTIAL(token, true, "For the schemes header, query and bearer", "\"tok-5f2c\""),
    CREDENTIAL(username, false, "For the scheme basic", "\"groundwork\""),
    CREDENTIAL(password, true, "For the scheme basic", "\"pass-5f2c\""),
    CREDENTIAL(client_id, false, "For the scheme oauth2_client_credentials", "\"groundwork\""),
    CREDENTIAL(client_secret, true, "For the scheme oauth2_client_credentials", "\"secret-5f2c\""),
    CREDENTIAL(access_token,
               true,
               "For the scheme oauth2_code: only the mask is accepted, which keeps the token",
               "\"" SECRET_MASK "\""),
    CREDENTIAL(refresh_token,
               true,
               "For the scheme oauth2_code: only the mask is accepted, which keeps the token",
               "\"" SECRET_MASK "\""),
};
static const struct schema credentials_schema =
    SCHEMA("ConnectionCredentials", struct credentials_in, credentials_fields);

/* clang-format off */
#define CONNECTION_NAME                                                                            \
    {.name = "name", FIELD_AT(struct connection_in, name), .type = FIELD_STR, .min = 1,            \
     .max = 100, .example = "\"default\""}
#define CONNECTION_CREDENTIALS                                                                     \
    {.name = "credentials", FIELD_AT(struct connection_in, credentials), .type = FIELD_OBJ,        \
     .sub = &credentials_schema,                                                                   \
     .doc = "The members that the integration's scheme needs; oauth2_code needs consent instead. " \
            "A member that is sent as it was read keeps its stored value"}
/* clang-format on */

static const struct field connection_create_fields[] = {
    {.name = "integration_id",
     FIELD_AT(struct connection_in, integration_id),
     .type = FIELD_I64,
     .required = true,
     .has_min = true,
     .min = 1},
    CONNECTION_NAME,
    {.name = "own",
     FIELD_AT(struct connection_in, own),
     .type = FIELD_BOOL,
     .doc = "true: for the caller only; otherwise for all callers who may run integrations"},
    CONNECTION_CREDENTIALS,
};
static const struct field connection_update_fields[] = {CONNECTION_NAME, CONNECTION_CREDENTIALS};
static const struct schema connection_create_schema =
    SCHEMA("ConnectionCreate", struct connection_in, connection_create_fields);
static const struct schema connection_update_schema =
    SCHEMA("ConnectionUpdate", struct connection_in, connection_update_fields);

static const struct field connection_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "integration_id", .type = FIELD_I64, .required = true},
    {.name = "integration", .type = FIELD_STR, .required = true, .example = "\"crm\""},
    {.name = "user_id",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "User who owns the connection; null: the project"},
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"default\""},
    {.name = "scheme", .type = FIELD_STR, .required = true, .values = integration_schemes},
    {.name = "status",
     .type = FIELD_STR,
     .required = true,
     .is_volatile = true,
     .values = connection_statuses,
     .doc = "pending: needs consent; failed: needs credentials or consent again"},
    {.name = "credentials",
     .type = FIELD_MAP,
     .required = true,
     .doc = "User names and client ids as they are, and a mask for everything else",
     .example = "{\"token\": \"********\"}"},
    {.name = "expires_at",
     .type = FIELD_TIME,
     .required = true,
     .nullable = true,
     .is_volatile = true,
     .doc = "Expiry of the OAuth 2 access token, which is renewed automatically"},
    {.name = "last_error",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .is_volatile = true,
     .doc = "Last error of the token server",
     .example = "\"invalid_grant\""},
    {.name = "last_used_at",
     .type = FIELD_TIME,
     .required = true,
     .nullable = true,
     .is_volatile = true},
    {.name = "created_by", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "version", .type = FIELD_I64, .required = true, .is_volatile = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true, .is_volatile = true},
};
const struct schema connection_out_schema = SCHEMA_OUT("Connection", connection_out_fields);

/* --- credentials --- */

/* The state that a connection gets from a body's credentials and the integration's scheme. */
struct connection_draft {
    struct integration_auth auth;
    struct str base_url;
    const char *status;
    json_t *secrets; /* NULL = none yet */
    struct str shown_credentials;
    const json_t *stored;        /* the current credentials, NULL = none */
    const char *unchanged_field; /* a member that keeps its stored value, NULL = none */
    bool is_changed;             /* a member has another value than the stored one */
};

/* Header values are one line. A colon would end the user name (RFC 7617, 2). */
static bool credential_is_valid(const char *member, struct str value)
{
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.ptr[i] < ' ' || value.ptr[i] == 0x7f)
            return false;
    return strcmp(member, "username") != 0 || memchr(value.ptr, ':', value.len) == NULL;
}

/* Takes a member of the credentials. Refuses a member that the scheme does not have, and a missing
 * member that the scheme needs. */
static int credential_take(struct req *r,
                           struct connection_draft *draft,
                           json_t *shown,
                           const char *member,
                           const struct in_str *value,
                           bool wanted,
                           bool hidden)
{
    const char *field = arena_printf(r->task.arena, "credentials.%s", member).ptr;

    struct str stored = jr_str(draft->stored, member);
    struct str text = value->value;

    if (!text.len)
        return wanted ? fail_field(
                            r, field, PROBLEM_REQUIRED, "is required by the integration's scheme")
                      : 0;
    if (!wanted)
        return fail_field(
            r, field, PROBLEM_VALIDATION_FAILED, "is not allowed by the integration's scheme");
    switch (secret_classify(text, stored.len && hidden ? STR(SECRET_MASK) : STR_NONE)) {
    case SECRET_WRONG_MASK:
        return fail_field(r, field, PROBLEM_VALIDATION_FAILED, SECRET_MASK_WRONG);
    case SECRET_SAME:
        draft->unchanged_field = field;
        text = stored;
        break;
    case SECRET_NEW:
        draft->is_changed = draft->is_changed || hidden || !str_eq(text, stored);
        break;
    }
    if (!credential_is_valid(member, text))
        return fail_field(r,
                          field,
                          PROBLEM_PATTERN,
                          "must be one line%s",
                          strcmp(member, "username") == 0 ? " without a colon" : "");
    (void)json_object_set_new(draft->secrets, member, json_stringn(text.ptr, text.len));
    (void)json_object_set_new(
        shown, member, hidden ? json_string(SECRET_MASK) : json_stringn(text.ptr, text.len));
    return 0;
}

/* Refuses tokens, which come by consent only. The mask of a stored token keeps that token. */
static int
tokens_take(struct req *r, struct connection_draft *draft, const struct credentials_in *in)
{
    const struct {
        const char *field, *member;
        struct str text;
    } tokens[] = {
        {"credentials.access_token", "access_token", in->access_token.value},
        {"credentials.refresh_token", "refresh_token", in->refresh_token.value},
    };

    for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
        bool has_token = jr_str(draft->stored, tokens[i].member).len > 0;
        if (!tokens[i].text.len)
            continue;
        if (secret_classify(tokens[i].text, has_token ? STR(SECRET_MASK) : STR_NONE) != SECRET_SAME)
            return fail_field(
                r,
                tokens[i].field,
                PROBLEM_VALIDATION_FAILED,
                "cannot be set, it comes by consent: POST /connections/{id}/authorize");
        draft->unchanged_field = tokens[i].field;
    }
    return 0;
}

static int
credentials_take(struct req *r, struct connection_draft *draft, const struct credentials_in *in)
{
    enum integration_scheme scheme = integration_scheme_of(&draft->auth);
    bool token = scheme == SCHEME_HEADER || scheme == SCHEME_QUERY || scheme == SCHEME_BEARER;
    bool basic = scheme == SCHEME_BASIC;
    bool client = scheme == SCHEME_OAUTH2_CLIENT;
    json_t *shown = jr_attach(r->task.arena, json_object());

    draft->secrets = jr_attach(r->task.arena, json_object());
    TRY(credential_take(r, draft, shown, "token", &in->token, token, true));
    TRY(credential_take(r, draft, shown, "username", &in->username, basic, false));
    TRY(credential_take(r, draft, shown, "password", &in->password, basic, true));
    TRY(credential_take(r, draft, shown, "client_id", &in->client_id, client, false));
    TRY(credential_take(r, draft, shown, "client_secret", &in->client_secret, client, true));
    TRY(tokens_take(r, draft, in));
    draft->shown_credentials = jr_print(r->task.arena, shown);
    draft->status = "active";
    if (scheme == SCHEME_OAUTH2_CODE) {
        draft->secrets = NULL;
        draft->status = "pending";
        draft->is_changed = !draft->unchanged_field;
    }
    return 0;
}

/* co: Reads the integration and locks it until the commit, then reads the credentials for it. */
AWAITS static int draft_credentials(struct req *r,
                                    int64_t integration_id,
                                    const struct connection_in *in,
                                    struct connection_draft *draft)
{
    static const struct credentials_in nothing;
    const struct credentials_in *given = in->credentials.value;
    struct rows rows;

    TRY(sql_all(r, &rows, SQL_CONNECTION_OF(.id = integration_id)));
    if (!rows.count)
        return fail_field(r, "integration_id", PROBLEM_NOT_FOUND, "there is no such integration");
    const struct sql_connection_of_row row = sql_connection_of_row(&rows, 0);
    draft->base_url = row.base_url;
    if (integration_auth_read(r->task.arena, row.auth, &draft->auth) != 0)
        return fail_internal(r, -EBADMSG);
    if (integration_scheme_of(&draft->auth) == SCHEME_NONE)
        return fail(
            r, PROBLEM_CONFLICT, "The integration needs no connection: its scheme is none.");
    return credentials_take(r, draft, given ? given : &nothing);
}

static struct str draft_seal(struct req *r, const struct connection_draft *draft, int64_t id)
{
    if (draft->secrets == NULL)
        return STR_NONE;
    return connection_seal(r->task.arena, r->scope->project, id, draft->secrets);
}

static int connection_name_taken(struct req *r, int rc)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    if (rc != DB_UNIQUE)
        return rc > 0 ? fail_db(r, rc) : rc;
    schema_error_add(r->task.arena, errors, STR("name"), PROBLEM_UNIQUE_VIOLATION, "is taken");
    return fail_with(r,
                     PROBLEM_UNIQUE_VIOLATION,
                     STR("Another connection of the integration has this name."),
                     errors);
}

/* --- endpoints --- */

static const struct query_param connections_query[] = {
    PAGE_QUERY,
    {.name = "integration_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Only connections of this integration"},
    {0},
};

AWAITS static int connections_list(struct req *r)
{
    const struct query *query;
    int64_t integration_id = 0;

    TRY(req_query(r, &query));
    (void)num_parse_i64(query_get(query, "integration_id"), &integration_id);
    return reply_page(r,
                      "id",
                      SQL_CONNECTIONS_LIST(.everybody = caller_is_admin(r->scope->caller),
                                           .user_id = r->scope->caller->user_id,
                                           .integration_id = some_id(integration_id)));
}

/* co: Finds a connection of the project or of the caller; with `everybody`, of other users too. */
AWAITS static int connection_find(struct req *r, int64_t id, bool everybody, struct rows *ret_rows)
{
    return sql_one(
        r,
        ret_rows,
        SQL_CONNECTION_GET(.id = id, .everybody = everybody, .user_id = r->scope->caller->user_id));
}

int connection_own_guard(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    return connection_find(r, id, false, &rows);
}

int connection_visible_guard(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    return connection_find(r, id, caller_is_admin(r->scope->caller), &rows);
}

int connection_reply(struct req *r, int status, int64_t id)
{
    struct rows rows;

    TRY(connection_find(r, id, caller_is_admin(r->scope->caller), &rows));
    return reply_row(r, status, &rows);
}

AWAITS static int connections_get(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return connection_reply(r, 200, id);
}

static const struct limit connections_limit = {
    "connections", "An integration", "connections", CONNECTIONS_MAX};

AWAITS static int connections_create(struct req *r)
{
    struct connection_draft draft = {0};
    struct connection_in in;
    struct rows rows;

    TRY(req_json(r, &connection_create_schema, &in));
    TRY(sql_begin(r));
    TRY(draft_credentials(r, in.integration_id.value, &in, &draft));
    struct db_call count =
        db_call(SQL_CONNECTIONS_COUNT(.integration_id = in.integration_id.value));
    TRY(limit_check(r, &connections_limit, in.integration_id.value, &count, 1));
    TRY(sql_one(r, &rows, SQL_CONNECTION_NEXT()));
    int64_t id = sql_connection_next_row(&rows, 0).id;
    int rc = db_query(
        &r->task,
        r->scope->db,
        SQL_CONNECTION_ADD(.id = id,
                           .integration_id = in.integration_id.value,
                           .user_id = some_id(in.own.value ? r->scope->caller->user_id : 0),
                           .name = in.name.set ? in.name.value : STR("default"),
                           .scheme = draft.auth.scheme.value,
                           .status = str_from(draft.status),
                           .shown = draft.shown_credentials,
                           .sealed = draft_seal(r, &draft, id),
                           .base_bound = integration_origin(r->task.arena, draft.base_url),
                           .token_bound =
                               integration_origin(r->task.arena, draft.auth.token_url.value),
                           .created_by = some_id(r->scope->caller->user_id)),
        NULL);
    if (rc != 0)
        return connection_name_taken(r, rc);
    TRY(gateway_commit(r, gateway_audit(r, "connections.create", "connection", id, STR_NONE)));
    reply_location(r, id);
    return connection_reply(r, 201, id);
}

/* co: Locks a connection of the project or of the caller. No caller, not even an administrator, may
 * change another user's connection. */
AWAITS static int
connection_lock_own(struct req *r, int64_t id, struct sql_connection_lock_row *ret_stored)
{
    struct rows rows;

    TRY(sql_one(
        r,
        &rows,
        SQL_CONNECTION_LOCK(.id = id, .everybody = false, .user_id = r->scope->caller->user_id)));
    *ret_stored = sql_connection_lock_row(r->task.arena, &rows, 0);
    return 0;
}

/* co: Members that are sent as answers show them keep their stored values. A stored secret is kept
 * only for the scheme and the hosts that it was given for. */
AWAITS static int credentials_replace(struct req *r,
                                      int64_t id,
                                      const struct sql_connection_lock_row *before,
                                      const struct connection_in *in)
{
    struct connection_draft draft = {0};
    json_t *stored;

    int rc = connection_open(&r->task, r->scope->project, id, before->sealed, &stored);
    if (rc < 0)
        return rc;
    draft.stored = rc == 0 ? stored : NULL;
    TRY(draft_credentials(r, before->integration_id, in, &draft));
    if (!draft.is_changed)
        return 0;
    struct str base = integration_origin(r->task.arena, draft.base_url);
    struct str token = integration_origin(r->task.arena, draft.auth.token_url.value);
    if (draft.unchanged_field &&
        !(str_eq(before->scheme, draft.auth.scheme.value) && str_eq(before->base_bound, base) &&
          str_eq(before->token_bound, token)))
        return fail_field(r,
                          draft.unchanged_field,
                          PROBLEM_REQUIRED,
                          "is required again: the integration has another host or scheme than the "
                          "stored value was given for");
    return sql_exec(r,
                    NULL,
                    SQL_CONNECTION_REPLACE(.id = id,
                                           .scheme = draft.auth.scheme.value,
                                           .status = str_from(draft.status),
                                           .shown = draft.shown_credentials,
                                           .sealed = draft_seal(r, &draft, id),
                                           .base_bound = base,
                                           .token_bound = token));
}

AWAITS static int connections_update(struct req *r)
{
    struct sql_connection_lock_row stored;
    struct connection_in in;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &connection_update_schema, &in));
    TRY(sql_begin(r));
    TRY(connection_lock_own(r, id, &stored));
    if (in.credentials.set)
        TRY(credentials_replace(r, id, &stored, &in));
    if (in.name.set) {
        int rc = db_query(
            &r->task, r->scope->db, SQL_CONNECTION_RENAME(.name = in.name.value, .id = id), NULL);
        if (rc != 0)
            return connection_name_taken(r, rc);
    }
    const struct changed_member members[] = {{"name", in.name.set},
                                             {"credentials", in.credentials.set}};
    struct str detail = gateway_changed_detail(r, members, ARRAY_LEN(members));
    TRY(gateway_commit(r, gateway_audit(r, "connections.update", "connection", id, detail)));
    return connection_reply(r, 200, id);
}

AWAITS static int connections_delete(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r,
                &rows,
                SQL_CONNECTION_REMOVE(.id = id,
                                      .everybody = caller_is_admin(r->scope->caller),
                                      .user_id = r->scope->caller->user_id)));
    TRY(gateway_commit(r, gateway_audit(r, "connections.delete", "connection", id, STR_NONE)));
    return reply_empty(r, 204);
}

static const struct route connections_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/connections",
        .id = "connections_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_READ,
        .query = connections_query,
        .success = {200, &connection_out_schema, .list = true},
        .run = connections_list,
        .summary = "List the project's connections and the caller's own",
        .doc = "Administrators see the connections of all users. Secrets are never returned.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/connections/{id}",
        .id = "connections_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_READ,
        .success = {200, &connection_out_schema},
        .extra_statuses = {404},
        .run = connections_get,
        .summary = "Get a connection with masked credentials",
    },
    {
        .method = HTTP_POST_M,
        .path = "/connections",
        .id = "connections_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_CREATE,
        .body = &connection_create_schema,
        .success = {201, &connection_out_schema},
        .extra_statuses = {409},
        .run = connections_create,
        .summary = "Store credentials for an integration",
        .doc = "The credentials are sent only to the hosts that the integration names when the "
               "credentials are stored.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/connections/{id}",
        .id = "connections_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_UPDATE,
        .body = &connection_update_schema,
        .success = {200, &connection_out_schema},
        .extra_statuses = {404, 409},
        .run = connections_update,
        .guard = connection_own_guard,
        .summary = "Rename a connection, or replace its credentials as a whole",
        .doc = "A user's own connection can be changed by that user only, not by administrators.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/connections/{id}",
        .id = "connections_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_DELETE,
        .success = {204},
        .extra_statuses = {404},
        .run = connections_delete,
        .guard = connection_visible_guard,
        .summary = "Delete a connection",
        .doc = "Tokens are not revoked at the token server: use POST /connections/{id}/revoke for "
               "that.",
    },
};
ROUTES(connections, "Integrations");
