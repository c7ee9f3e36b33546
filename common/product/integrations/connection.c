/* Connections: reads and decrypts them, and chooses the one to use. */
#include "integrations/connection.h"

#include "base/panic.h"
#include "integrations/connection_private.h"
#include "integrations_use_sql.h"
#include "json/jr.h"
#include "project/unseal.h"

#define TOKEN_LEFT_MS 30000 /* a token must be valid for at least this time */

/* --- encryption --- */

struct str connection_seal(struct arena *arena,
                           const struct project *project,
                           int64_t id,
                           const json_t *secrets)
{
    return aead_seal(arena,
                     &project->data_key,
                     jr_print(arena, secrets),
                     aad_connection(arena, project->number, id));
}

int connection_open(
    struct task *task, struct project *project, int64_t id, struct str sealed, json_t **ret_secrets)
{
    struct jr_error error;
    struct str plain;

    *ret_secrets = NULL;
    if (sealed.ptr == NULL)
        return 0;
    int rc = data_key_open(
        task, project, sealed, aad_connection(task->arena, project->number, id), &plain);
    if (rc != 0)
        return rc < 0 ? rc : INTEGRATION_BAD;
    rc = jr_parse(task->arena, plain, ret_secrets, &error);
    explicit_bzero((char *)plain.ptr, plain.len);
    return rc == 0 && json_is_object(*ret_secrets) ? 0 : INTEGRATION_BAD;
}

int connection_source_read(struct task *task,
                           struct project *project,
                           struct integration_source *source,
                           struct str auth,
                           struct str sealed,
                           struct str client_bound)
{
    TRY(integration_auth_read(task->arena, auth, &source->auth));
    struct str origin = integration_origin(task->arena, source->auth.token_url.value);
    if (sealed.ptr == NULL || !str_eq(origin, client_bound))
        return 0;
    struct str place = aad_integration(task->arena, project->number, source->id);
    int rc = data_key_open(task, project, sealed, place, &source->client_secret);
    return rc > 0 ? INTEGRATION_BAD : rc;
}

/* --- choice --- */

int connection_fail(struct connection_error *error,
                    enum problem problem,
                    struct arena *arena,
                    const char *message)
{
    *error = (struct connection_error){problem, arena_dup(arena, str_from(message))};
    return INTEGRATION_FAILED;
}

int connection_read(struct task *task,
                    struct project *project,
                    const struct rows *rows,
                    size_t row,
                    struct connection *ret_connection)
{
    const struct sql_connection_use_row found = sql_connection_use_row(task->arena, rows, row);
    const struct integration_auth named = {.scheme = {.value = found.scheme}};

    *ret_connection = (struct connection){
        .id = found.id,
        .user_id = found.user_id.value,
        .version = found.version,
        .token_number = found.token_number,
        .status = found.status,
        .base_bound = found.base_bound,
        .token_bound = found.token_bound,
        .scheme = integration_scheme_of(&named),
        .token_due = found.token_expires != 0 && found.token_expires - TOKEN_LEFT_MS < found.now,
    };
    TRY(connection_open(task, project, found.id, found.sealed, &ret_connection->secrets));
    if (!jr_str(ret_connection->secrets, "access_token").len)
        ret_connection->token_due = true;
    return 0;
}

const char *connection_fault(struct arena *arena,
                             const struct integration_source *source,
                             const struct connection *connection)
{
    struct str base = integration_origin(arena, source->base_url);
    struct str token = integration_origin(arena, source->auth.token_url.value);

    if (str_is(connection->status, "revoked"))
        return "The connection was revoked.";
    if (str_is(connection->status, "pending"))
        return "The connection needs its user's consent: start with POST "
               "/connections/{id}/authorize.";
    if (str_is(connection->status, "failed"))
        return "The connection no longer works: enter its credentials again, or give the consent "
               "again.";
    if (connection->scheme != integration_scheme_of(&source->auth))
        return "The integration has another scheme than when the connection was made: enter its "
               "credentials again, or give the consent again.";
    if (!str_eq(connection->base_bound, base) || !str_eq(connection->token_bound, token))
        return "The integration is at another host than when the connection was made: enter its "
               "credentials again, or give the consent again.";
    return connection->secrets == NULL ? "The connection has no credentials." : NULL;
}

int connection_choose(struct task *task,
                      struct project *project,
                      const struct integration_source *source,
                      int64_t user_id,
                      int64_t id,
                      struct connection *ret_connection,
                      struct connection_error *ret_error)
{
    bool none = integration_scheme_of(&source->auth) == SCHEME_NONE;
    struct rows rows;

    *ret_connection = (struct connection){0};
    if (none && id == 0)
        return 0;
    TRY(db_query(task,
                 &project->db,
                 SQL_USE_CONNECTIONS(.integration_id = source->id, .id = id, .user_id = user_id),
                 &rows));
    if (rows.count == 0)
        return connection_fail(ret_error,
                               id != 0 ? PROBLEM_NOT_FOUND : PROBLEM_CONFLICT,
                               task->arena,
                               id != 0 ? "The integration has no connection with this id."
                                       : "The integration has no connection that can be used: "
                                         "make one with POST /connections.");
    TRY(connection_read(task, project, &rows, 0, ret_connection));
    if (rows.count > 1) {
        const struct sql_connection_use_row next = sql_connection_use_row(task->arena, &rows, 1);
        if (next.user_id.value == ret_connection->user_id)
            return connection_fail(ret_error,
                                   PROBLEM_CONFLICT,
                                   task->arena,
                                   "The integration has several connections: choose one with "
                                   "connection_id.");
    }
    const char *fault = connection_fault(task->arena, source, ret_connection);
    return fault != NULL ? connection_fail(ret_error, PROBLEM_CONFLICT, task->arena, fault) : 0;
}

/* --- contents --- */

struct outgoing_credentials connection_credentials(const struct integration_source *source,
                                                   const struct connection *connection)
{
    const json_t *secrets = connection->secrets;
    struct outgoing_credentials credentials = {
        .scheme = connection->id ? connection->scheme : SCHEME_NONE,
        .name = source->auth.name.value,
        .prefix = source->auth.prefix.value,
        .token = jr_str(secrets, "token"),
        .username = jr_str(secrets, "username"),
        .password = jr_str(secrets, "password"),
    };

    if (credentials.scheme == SCHEME_OAUTH2_CLIENT || credentials.scheme == SCHEME_OAUTH2_CODE) {
        credentials.scheme = SCHEME_BEARER;
        credentials.token = jr_str(secrets, "access_token");
    }
    return credentials;
}

struct token_client connection_client(const struct integration_source *source,
                                      const struct connection *connection)
{
    if (connection->scheme == SCHEME_OAUTH2_CODE)
        return (struct token_client){
            .auth = &source->auth,
            .id = source->auth.client_id.value,
            .secret = source->client_secret,
        };
    return (struct token_client){
        .auth = &source->auth,
        .id = jr_str(connection->secrets, "client_id"),
        .secret = jr_str(connection->secrets, "client_secret"),
    };
}

void connection_set_tokens(struct connection *connection, const struct token_answer *answer)
{
    json_t *secrets = connection->secrets;

    MUST(json_object_set_new(secrets,
                             "access_token",
                             json_stringn(answer->access_token.ptr, answer->access_token.len)) ==
         0);
    if (answer->refresh_token.len)
        MUST(json_object_set_new(
                 secrets,
                 "refresh_token",
                 json_stringn(answer->refresh_token.ptr, answer->refresh_token.len)) == 0);
}

struct secret_values *connection_secret_values(struct arena *arena,
                                               const struct integration_source *source,
                                               const struct connection *connection)
{
    struct secret_values *values = ARENA_NEW(arena, values);
    size_t most = json_object_size(connection->secrets) + 1;
    const char *name;
    json_t *item;

    values->names = ARENA_ARRAY(arena, values->names, most);
    values->values = ARENA_ARRAY(arena, values->values, most);
    values->hosts = ARENA_ARRAY(arena, values->hosts, most);
    values->used = ARENA_ARRAY(arena, values->used, most);
    if (source->client_secret.len)
        values->values[values->count++] = source->client_secret;
    json_object_foreach(connection->secrets, name, item)
    {
        if (!json_is_string(item) || strcmp(name, "username") == 0 ||
            strcmp(name, "client_id") == 0)
            continue;
        values->values[values->count++] =
            (struct str){json_string_value(item), json_string_length(item)};
    }
    return values;
}
