/*
 * Consent of a user for an OAuth 2 connection (RFC 6749, 4.1, with PKCE, RFC 7636), and the
 * revocation of a connection. The state is stored as a hash for ten minutes. It works once, and
 * only for the user who began the consent. So a user can neither receive another user's consent nor
 * give a consent to another user's connection.
 */
#include "areas/auth/auth_flow.h"
#include "areas/auth/auth_session.h"
#include "areas/integrations/integrations.h"

#include <errno.h>

#include "base/codec.h"
#include "base/secret_mask.h"
#include "connections_sql.h"
#include "integrations/connection.h"
#include "json/jr.h"
#include "project/redirect.h"
#include "project/unseal.h"

#define STATE_MAX 128
#define URL_BYTES 32768

/* A consent that a user has begun. */
struct consent {
    int64_t connection_id, version;
    struct str redirect_to, target, verifier;
};

/* --- begin --- */

struct authorize_in {
    struct in_str redirect_to;
};
static const struct field authorize_in_fields[] = {
    {.name = "redirect_to",
     FIELD_AT(struct authorize_in, redirect_to),
     .type = FIELD_STR,
     .required = true,
     .max = 2048,
     .doc = "Page of the client that receives code and state; one of the project's redirect_urls",
     .example = "\"https://app.example.com/connected\""},
};
static const struct schema authorize_in_schema =
    SCHEMA("ConnectionAuthorize", struct authorize_in, authorize_in_fields);
static const struct field consent_fields[] = {
    {.name = "url", .type = FIELD_STR, .required = true, .doc = "Where to send the user"},
    {.name = "expires_in", .type = FIELD_I64, .required = true, .doc = "Seconds"},
};
static const struct schema consent_schema = SCHEMA_OUT("ConnectionConsent", consent_fields);

/* co: Loads the integration of a connection. 409 unless the integration's scheme needs consent and
 * its auth has a client_id. */
AWAITS static int
consent_source_load(struct req *r, int64_t integration_id, struct integration_source *source)
{
    int rc = connection_source_load(&r->task, r->scope->project, integration_id, source);

    if (rc == INTEGRATION_FAILED)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    if (rc == INTEGRATION_BAD)
        return fail_internal(r, -EBADMSG);
    TRY(sql_check(r, rc));
    if (integration_scheme_of(&source->auth) != SCHEME_OAUTH2_CODE)
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The integration needs no consent: its scheme is not oauth2_code.");
    if (!source->auth.client_id.value.len)
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The integration has no auth.client_id: set it with PUT /integrations/{id}.");
    return 0;
}

/* co: Locks a connection that the caller may change. */
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

static void consent_url_add(struct strbuf *url, const char *name, struct str value)
{
    if (!value.len)
        return;
    strbuf_char(url, memchr(url->ptr, '?', url->len) ? '&' : '?');
    strbuf_cstr(url, name);
    strbuf_char(url, '=');
    strbuf_str(url, codec_percent(url->arena, value));
}

static struct str consent_url(struct arena *arena,
                              const struct integration_auth *auth,
                              const struct consent *consent,
                              struct str state)
{
    struct strbuf url;
    struct strbuf scopes;

    strbuf_init(&url, arena, URL_BYTES);
    strbuf_init(&scopes, arena, URL_BYTES);
    for (size_t i = 0; i < auth->scopes.count; i++) {
        if (i > 0)
            strbuf_char(&scopes, ' ');
        strbuf_str(&scopes, auth->scopes.items[i]);
    }
    strbuf_str(&url, auth->authorization_url.value);
    consent_url_add(&url, "response_type", STR("code"));
    consent_url_add(&url, "client_id", auth->client_id.value);
    consent_url_add(&url, "redirect_uri", consent->redirect_to);
    consent_url_add(&url, "scope", strbuf_view(&scopes));
    consent_url_add(&url, "audience", auth->audience.value);
    consent_url_add(&url, "state", state);
    consent_url_add(&url, "code_challenge", auth_flow_challenge(arena, consent->verifier));
    consent_url_add(&url, "code_challenge_method", STR("S256"));
    return strbuf_view(&url);
}

/* Names the token server and the client that get the code. An integration that has another server
 * or client since the consent began gets no code. */
static struct str consent_target(struct arena *arena, const struct integration_source *source)
{
    struct str origin = integration_origin(arena, source->auth.token_url.value);

    return arena_printf(arena, "%.*s %.*s", STR_ARG(origin), STR_ARG(source->auth.client_id.value));
}

AWAITS static int
consent_flow_store(struct req *r, int64_t id, const struct consent *consent, struct str state)
{
    struct arena *arena = r->task.arena;
    const struct project *project = r->scope->project;
    struct str hash = auth_secret_hash(arena, state);
    struct str sealed = aead_seal(arena,
                                  &project->data_key,
                                  consent->verifier,
                                  aad_connection_flow(arena, project->number, hash));
    struct db_call calls[] = {
        db_call(SQL_CONNECTION_FLOW_PRUNE()),
        db_call(SQL_CONNECTION_FLOW_ADD(.state_hash = hash,
                                        .connection_id = id,
                                        .version = consent->version,
                                        .user_id = r->scope->caller->user_id,
                                        .redirect_to = consent->redirect_to,
                                        .bound = consent->target,
                                        .sealed = sealed)),
    };

    return sql_batch(r, calls, ARRAY_LEN(calls));
}

AWAITS static int connections_authorize(struct req *r)
{
    struct sql_connection_lock_row stored;
    struct integration_source source = {0};
    struct authorize_in in;
    struct jw w;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &authorize_in_schema, &in));
    if (!redirect_url_is_listed(&r->scope->project->settings, in.redirect_to.value))
        return fail(r,
                    PROBLEM_REDIRECT_NOT_ALLOWED,
                    "redirect_to must be one of the project's redirect_urls.");
    TRY(sql_begin(r));
    TRY(connection_lock_own(r, id, &stored));
    TRY(consent_source_load(r, stored.integration_id, &source));
    struct str state = auth_secret_new(r->task.arena);
    const struct consent consent = {
        .version = stored.version,
        .redirect_to = in.redirect_to.value,
        .target = consent_target(r->task.arena, &source),
        .verifier = auth_secret_new(r->task.arena),
    };
    TRY(consent_flow_store(r, id, &consent, state));
    TRY(sql_commit(r));
    w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w, "url", consent_url(r->task.arena, &source.auth, &consent, state));
    JW_I64(&w, "expires_in", 600);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* --- finish --- */

struct consent_in {
    struct in_str code, state, iss, error;
};
static const struct field consent_in_fields[] = {
    {.name = "code",
     FIELD_AT(struct consent_in, code),
     .type = FIELD_STR,
     .min = 1,
     .max = 4096,
     .write_only = true,
     .doc = "Required unless error is given"},
    {.name = "state",
     FIELD_AT(struct consent_in, state),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = 512,
     .write_only = true},
    {.name = "iss",
     FIELD_AT(struct consent_in, iss),
     .type = FIELD_STR,
     .max = 2048,
     .doc = "The value of iss that the provider sent (RFC 9207): must have the host of "
            "authorization_url"},
    {.name = "error",
     FIELD_AT(struct consent_in, error),
     .type = FIELD_STR,
     .min = 1,
     .max = 64,
     .doc = "The error that the provider sent in place of a code, such as access_denied"},
};
/* Providers add members of their own (scope, authuser, session_state), which are ignored. */
static const struct schema consent_in_schema = {
    .name = "ConnectionCallback",
    .fields = consent_in_fields,
    .count = ARRAY_LEN(consent_in_fields),
    .struct_bytes = sizeof(struct consent_in),
    .allows_unknown = true,
};

static int consent_invalid(struct req *r)
{
    return fail(r,
                PROBLEM_FLOW_STATE_INVALID,
                "This consent is unknown, used, expired or another user's; begin again.");
}

/* co: Deletes the flow of the state, also when another user sends the state, because a state that
 * another user has seen is not secret. */
AWAITS static int consent_flow_take(struct req *r, struct str state, struct consent *ret_consent)
{
    struct arena *arena = r->task.arena;
    struct rows rows;

    if (state.len > STATE_MAX)
        return consent_invalid(r);
    struct str hash = auth_secret_hash(arena, state);
    TRY(sql_all(r, &rows, SQL_CONNECTION_FLOW_TAKE(.state_hash = hash)));
    if (!rows.count)
        return consent_invalid(r);
    const struct sql_connection_flow_take_row row = sql_connection_flow_take_row(arena, &rows, 0);
    struct str place = aad_connection_flow(arena, r->scope->project->number, hash);
    if (!row.live || row.user_id != r->scope->caller->user_id ||
        data_key_open(&r->task, r->scope->project, row.sealed, place, &ret_consent->verifier) != 0)
        return consent_invalid(r);
    ret_consent->connection_id = row.connection_id;
    ret_consent->version = row.version;
    ret_consent->redirect_to = row.redirect_to;
    ret_consent->target = row.bound;
    return 0;
}

/* RFC 9207, 2.4: the issuer has to be the authorization server that the user was sent to. */
static bool
issuer_is_expected(struct req *r, const struct integration_source *source, struct str iss)
{
    struct str requested = integration_origin(r->task.arena, source->auth.authorization_url.value);

    return !iss.len || str_eq(integration_origin(r->task.arena, iss), requested);
}

/* co: Stores the tokens. 409 when the connection has changed since the consent began. */
AWAITS static int consent_store(struct req *r,
                                const struct consent *consent,
                                const struct integration_source *source,
                                const struct token_answer *answer)
{
    struct arena *arena = r->task.arena;
    struct connection connection = {.secrets = jr_attach(arena, json_object())};
    struct rows rows;

    connection_set_tokens(&connection, answer);
    TRY(sql_begin(r));
    TRY(sql_all(
        r,
        &rows,
        SQL_CONNECTION_CONSENT(
                .scheme = source->auth.scheme.value,
                .sealed = connection_seal(
                    arena, r->scope->project, consent->connection_id, connection.secrets),
                .shown = answer->refresh_token.len
                             ? STR("{\"access_token\":\"" SECRET_MASK
                                   "\",\"refresh_token\":\"" SECRET_MASK "\"}")
                             : STR("{\"access_token\":\"" SECRET_MASK "\"}"),
                .base_bound = integration_origin(arena, source->base_url),
                .token_bound = integration_origin(arena, source->auth.token_url.value),
                .expires_in = answer->expires_in < 0 ? NO_I64 : some_i64(answer->expires_in),
                .id = consent->connection_id,
                .version = consent->version)));
    if (!rows.count)
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The connection has changed since the consent began; begin again.");
    return gateway_commit(
        r,
        gateway_audit(r, "connections.authorize", "connection", consent->connection_id, STR_NONE));
}

AWAITS static int connections_callback(struct req *r)
{
    struct sql_connection_lock_row stored;
    struct integration_source source = {0};
    struct token_answer answer = {0};
    struct consent consent = {0};
    struct consent_in in;

    TRY(req_json(r, &consent_in_schema, &in));
    if (!in.code.value.len && !in.error.value.len)
        return fail_field(r, "code", PROBLEM_REQUIRED, "is required");
    TRY(consent_flow_take(r, in.state.value, &consent));
    if (in.error.value.len)
        return auth_flow_refuse(r, in.error.value);
    TRY(connection_lock_own(r, consent.connection_id, &stored));
    TRY(consent_source_load(r, stored.integration_id, &source));
    if (!issuer_is_expected(r, &source, in.iss.value) ||
        !str_eq(consent.target, consent_target(r->task.arena, &source)))
        return consent_invalid(r);
    const struct token_client client = {
        .auth = &source.auth, .id = source.auth.client_id.value, .secret = source.client_secret};
    const struct token_grant grant = {
        .type = "authorization_code",
        .code = in.code.value,
        .redirect_uri = consent.redirect_to,
        .code_verifier = consent.verifier,
    };
    int rc = token_request(&r->task, &client, &grant, &answer);
    if (rc == TOKEN_REFUSED)
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The token server refused the code (%.*s); begin again.",
                    STR_ARG(answer.error));
    if (rc > 0)
        return fail(r,
                    PROBLEM_PROVIDER_ERROR,
                    "The token server did not send a valid answer; begin again.");
    TRY(rc);
    TRY(consent_store(r, &consent, &source, &answer));
    return connection_reply(r, 200, consent.connection_id);
}

/* --- revocation --- */

/* co: Revokes the tokens at the token server, when the integration has a revocation_url at the host
 * that the tokens are bound to. */
AWAITS static int tokens_revoke(struct req *r,
                                const struct integration_source *source,
                                const struct connection *connection)
{
    const struct token_client client = connection_client(source, connection);
    struct str refresh = jr_str(connection->secrets, "refresh_token");
    struct str access = jr_str(connection->secrets, "access_token");

    if (!source->auth.revocation_url.value.len ||
        !str_eq(connection->token_bound,
                integration_origin(r->task.arena, source->auth.revocation_url.value)))
        return 0;
    if (refresh.len)
        TRY(token_revoke(&r->task, &client, refresh, "refresh_token"));
    return access.len ? token_revoke(&r->task, &client, access, "access_token") : 0;
}

/* co: Revokes the connection in the database, so that it is unusable even when the token server
 * fails. Returns the connection with its tokens. */
AWAITS static int connection_revoke_locally(struct req *r,
                                            int64_t id,
                                            struct connection *ret_connection,
                                            int64_t *ret_integration_id)
{
    const bool admin = caller_is_admin(r->scope->caller);
    struct rows rows;

    TRY(sql_begin(r));
    TRY(sql_one(
        r,
        &rows,
        SQL_CONNECTION_LOCK(.id = id, .everybody = admin, .user_id = r->scope->caller->user_id)));
    const struct sql_connection_lock_row stored = sql_connection_lock_row(r->task.arena, &rows, 0);
    bool already = str_is(stored.status, "revoked");
    const struct integration_auth named = {.scheme = {.value = stored.scheme}};
    *ret_connection = (struct connection){
        .id = id,
        .version = stored.version + (already ? 0 : 1),
        .scheme = integration_scheme_of(&named),
        .token_bound = stored.token_bound,
    };
    *ret_integration_id = stored.integration_id;
    TRY(sql_exec(r, NULL, SQL_CONNECTION_REVOKE(.id = id)));
    TRY(gateway_commit(r, gateway_audit(r, "connections.revoke", "connection", id, STR_NONE)));
    int rc =
        connection_open(&r->task, r->scope->project, id, stored.sealed, &ret_connection->secrets);
    return rc > 0 ? fail_internal(r, -EBADMSG) : rc;
}

AWAITS static int connections_revoke(struct req *r)
{
    struct connection connection;
    struct integration_source source = {0};
    int64_t integration_id;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(connection_revoke_locally(r, id, &connection, &integration_id));
    int rc = connection_source_load(&r->task, r->scope->project, integration_id, &source);
    if (rc == 0)
        rc = tokens_revoke(r, &source, &connection);
    if (rc == TOKEN_UNAVAILABLE)
        return fail(r,
                    PROBLEM_PROVIDER_ERROR,
                    "The connection is revoked here, but the token server did not confirm; "
                    "send the request again.");
    if (rc < 0)
        return rc;
    TRY(sql_exec(r, NULL, SQL_CONNECTION_FORGET(.id = id, .version = connection.version)));
    return connection_reply(r, 200, id);
}

static const struct route connections_oauth_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/connections/{id}/authorize",
        .id = "connections_authorize",
        .auth = AUTH_USER,
        .perm = PERM_SVC_INTEGRATIONS_UPDATE,
        .body = &authorize_in_schema,
        .success = {200, &consent_schema},
        .extra_statuses = {404, 409},
        .run = connections_authorize,
        .guard = connection_own_guard,
        .summary = "Begin a user's consent",
        .doc = "Send the user to the url of the answer. The page of the client that then receives "
               "code and state sends them to POST /connections/callback, as the same user.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/connections/callback",
        .id = "connections_callback",
        .auth = AUTH_USER,
        .perm = PERM_SVC_INTEGRATIONS_UPDATE,
        .body = &consent_in_schema,
        .success = {200, &connection_out_schema},
        .extra_statuses = {404, 409, 502},
        .run = connections_callback,
        .summary = "Finish a consent with the provider's code and state",
        .doc = "A consent can be finished once, within ten minutes, by the user who began it.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/connections/{id}/revoke",
        .id = "connections_revoke",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_UPDATE,
        .success = {200, &connection_out_schema},
        .extra_statuses = {404, 502},
        .run = connections_revoke,
        .guard = connection_visible_guard,
        .summary = "Revoke a connection, and its tokens at the token server",
        .doc = "The connection is unusable after a 200 and after a 502. Its tokens are revoked at "
               "the token server when the integration has a revocation_url; after a 502, send the "
               "request again.",
    },
};
ROUTES(connections_oauth, "Integrations");
