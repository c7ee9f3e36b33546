/* /auth/v1/google: sign-in through the project's OpenID Connect issuer. */
#include "areas/auth/auth_flow.h"
#include "areas/auth/auth_input.h"
#include "areas/auth/auth_link.h"
#include "areas/auth/auth_session.h"
#include "auth_page.h"
#include "auth_provider_sql.h"
#include "crypto/ct.h"
#include "stages/stages.h"

#define HINT_BYTES 1024 /* three times as long when encoded in the Location header */

/* Returns the user who may link an identity to the user's own account: the caller, when it has the
 * token of a session. 0 for an API key and for a caller without credentials. */
static int64_t linking_user(const struct req *r)
{
    return r->scope->caller->kind == CALLER_USER ? r->scope->caller->user_id : 0;
}

/* --- start --- */

static const struct query_param authorize_query[] = {
    {.name = "redirect_to",
     .type = FIELD_STR,
     .doc = "Page of the client that gets code and state; one of the project's redirect_urls, or "
            "the project's page /auth/ui/"},
    {.name = "code_challenge",
     .type = FIELD_STR,
     .doc = "BASE64URL(SHA256(verifier)) of RFC 7636: the callback then needs code_verifier"},
    {.name = "code_challenge_method",
     .type = FIELD_STR,
     .values = (const char *const[]){"S256", NULL},
     .fallback = "S256"},
    {.name = "login_hint", .type = FIELD_STR, .doc = "Address to suggest at the provider"},
    {0},
};

static const struct field authorize_fields[] = {
    {.name = "url", .type = FIELD_STR, .required = true, .doc = "Where to send the browser"},
};
static const struct schema authorize_schema = SCHEMA_OUT("ProviderRedirect", authorize_fields);

static int read_authorize(struct req *r, const struct query *query, struct auth_flow *flow)
{
    flow->redirect_to = query_get(query, "redirect_to");
    struct str own = auth_page_own_url(r);
    if (!own.len || !str_eq(flow->redirect_to, own))
        TRY(auth_check_redirect(r, flow->redirect_to));
    if (query_get(query, "login_hint").len > HINT_BYTES)
        return fail(r, PROBLEM_INVALID_QUERY, "login_hint may have at most %d bytes.", HINT_BYTES);
    flow->code_challenge = query_get(query, "code_challenge");
    return auth_flow_check_challenge(r, flow->code_challenge);
}

static struct str authorization_url(struct req *r,
                                    const struct oidc_client *client,
                                    const struct auth_flow *flow,
                                    struct str login_hint)
{
    struct arena *arena = r->task.arena;
    const struct {
        const char *name;
        struct str value;
    } parameters[] = {
        {"client_id", client->client_id},
        {"response_type", STR("code")},
        {"scope", STR("openid email profile")},
        {"redirect_uri", flow->redirect_to},
        {"state", flow->state},
        {"nonce", flow->nonce},
        {"code_challenge", auth_flow_challenge(arena, flow->code_verifier)},
        {"code_challenge_method", STR("S256")},
        {"login_hint", login_hint},
    };
    struct str url = client->authorization_endpoint;

    for (size_t i = 0; i < ARRAY_LEN(parameters); i++)
        if (parameters[i].value.len)
            url = auth_flow_url(arena, url, parameters[i].name, parameters[i].value);
    return url;
}

static bool wants_json(struct req *r)
{
    struct str accept = req_header(r, "accept");

    while (accept.ptr) {
        struct str range = str_split(&accept, ',');
        if (str_ieq(str_trim(str_split(&range, ';')), STR("application/json")))
            return true;
    }
    return false;
}

AWAITS static int provider_authorize(struct req *r)
{
    struct auth_flow flow = {.user_id = linking_user(r)};
    const struct query *query;
    struct oidc_client client;

    TRY(req_query(r, &query));
    TRY(rate_limit_address(r, "authorize"));
    TRY(oidc_client_load(r, &client));
    TRY(read_authorize(r, query, &flow));
    flow.issuer = client.issuer;
    flow.client_id = client.client_id;
    TRY(auth_flow_begin(r, &flow));
    struct str url = authorization_url(r, &client, &flow, query_get(query, "login_hint"));
    if (wants_json(r)) {
        struct jw w = resp_json(r);
        jw_obj(&w);
        JW_STR(&w, "url", url);
        jw_obj_end(&w);
        return reply_json(r, 200);
    }
    resp_header(r, "Location", url);
    return reply_empty(r, 302);
}

/* --- finish --- */

struct callback_in {
    struct in_str code;
    struct in_str state;
    struct in_str code_verifier;
    struct in_str iss;
    struct in_str error;
};

static const struct field callback_fields[] = {
    {.name = "code",
     FIELD_AT(struct callback_in, code),
     .type = FIELD_STR,
     .min = 1,
     .max = 4096,
     .doc = "Required unless error is sent"},
    {.name = "state",
     FIELD_AT(struct callback_in, state),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = 512},
    {.name = "code_verifier",
     FIELD_AT(struct callback_in, code_verifier),
     .type = FIELD_STR,
     .write_only = true,
     .max = 128,
     .doc = "Required when the sign-in was started with a code_challenge"},
    {.name = "iss",
     FIELD_AT(struct callback_in, iss),
     .type = FIELD_STR,
     .max = 2048,
     .doc = "The value of iss that the provider sent (RFC 9207)"},
    {.name = "error",
     FIELD_AT(struct callback_in, error),
     .type = FIELD_STR,
     .min = 1,
     .max = 64,
     .doc = "The error that the provider sent in place of a code, such as access_denied"},
};
/* Providers add members of their own (scope, authuser, session_state), which are ignored. */
static const struct schema callback_schema = {
    .name = "ProviderCallback",
    .fields = callback_fields,
    .count = ARRAY_LEN(callback_fields),
    .struct_bytes = sizeof(struct callback_in),
    .allows_unknown = true,
};

/* Checks that the finish belongs to the start: same client, same issuer, same user. */
static int check_flow(struct req *r, const struct auth_flow *flow, const struct callback_in *in)
{
    struct str verifier = in->code_verifier.value;

    if (in->iss.value.len && !oidc_issuer_is(flow->issuer, in->iss.value))
        return fail(
            r,
            PROBLEM_FLOW_STATE_INVALID,
            "The answer comes from another identity provider than the one that was requested.");
    if (flow->code_challenge.len || verifier.len) {
        struct str challenge = auth_flow_challenge(r->task.arena, verifier);
        if (!ct_eq(challenge, flow->code_challenge))
            return fail(r,
                        PROBLEM_FLOW_STATE_INVALID,
                        "The code_verifier does not match the code_challenge of the start.");
    }
    if (flow->user_id && flow->user_id != linking_user(r))
        return fail(
            r, PROBLEM_FLOW_STATE_INVALID, "Linking must be finished by the user who began it.");
    return 0;
}

AWAITS static int read_identity(struct req *r,
                                const struct auth_flow *flow,
                                struct str code,
                                struct oidc_client *client,
                                struct oidc_identity *ret_identity)
{
    struct oidc_exchange exchange = {
        .code = code,
        .redirect_uri = flow->redirect_to,
        .code_verifier = flow->code_verifier,
    };

    TRY(oidc_client_load(r, client));
    if (!str_eq(client->issuer, flow->issuer) || !str_eq(client->client_id, flow->client_id))
        return fail(
            r, PROBLEM_FLOW_STATE_INVALID, "The identity provider was changed; start again.");
    TRY(oidc_exchange(r, client, &exchange));
    return oidc_identity_read(r, client, &exchange, flow->nonce, ret_identity);
}

/* Starts the session of the application, in place of the session of the page /auth/ui/. Other
 * processes know the end of the page's session after five seconds; the page has left its tokens. */
AWAITS static int pass_session(struct req *r,
                               const struct auth_flow *flow,
                               struct str code,
                               struct auth_tokens *ret_tokens)
{
    struct rows account;

    if (!ct_eq(code, flow->nonce))
        return fail(r, PROBLEM_FLOW_STATE_INVALID, "The code does not belong to this sign-in.");
    TRY(sql_begin(r));
    TRY(sql_all(r, &account, SQL_FLOW_SESSION_END(.id = flow->session_id)));
    if (!account.count)
        return fail(
            r, PROBLEM_FLOW_STATE_INVALID, "The session of this sign-in has ended; start again.");
    const struct sql_flow_session_end_row row = sql_flow_session_end_row(&account, 0);
    TRY(auth_account_check(r, row.status, row.confirmed));
    TRY(auth_session_start(r, row.id, STR_NONE, STR_NONE, ret_tokens));
    return sql_commit(r);
}

static int reply_tokens(struct req *r, const struct auth_tokens *tokens, bool is_new)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    auth_tokens_members(&w, tokens);
    JW_BOOL(&w, "is_new_user", is_new);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int provider_callback(struct req *r)
{
    struct callback_in in;
    struct auth_flow flow;
    struct oidc_client client;
    struct oidc_identity identity;
    struct auth_tokens tokens;

    TRY(auth_read_body(r, &callback_schema, &in));
    TRY(rate_limit_address(r, "callback"));
    if (!in.code.value.len && !in.error.value.len)
        return fail_field(r, "code", PROBLEM_REQUIRED, "is required");
    TRY(auth_flow_take(r, in.state.value, &flow));
    TRY(check_flow(r, &flow, &in));
    if (in.error.value.len)
        return auth_flow_refuse(r, in.error.value);
    if (flow.session_id) {
        TRY(pass_session(r, &flow, in.code.value, &tokens));
        return reply_tokens(r, &tokens, false);
    }
    TRY(read_identity(r, &flow, in.code.value, &client, &identity));
    struct auth_link link = {.link_user_id = flow.user_id};
    TRY(sql_begin(r));
    TRY(auth_link_find(r, &client, &identity, &link));
    TRY(auth_session_start(r, link.user_id, STR_NONE, STR_NONE, &tokens));
    TRY(sql_commit(r));
    if (link.rights_changed)
        gateway_raise_epoch(r);
    return reply_tokens(r, &tokens, link.is_new);
}

static const struct route auth_provider_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/auth/v1/google/authorize",
        .id = "auth_provider_authorize",
        .auth = AUTH_OPTIONAL,
        .query = authorize_query,
        .success = {200, &authorize_schema},
        .extra_statuses = {302, 404, 502},
        .run = provider_authorize,
        .guard = oidc_check_configured,
        .class = CLASS_AUTH,
        .summary = "Start a sign-in at the project's identity provider",
        .doc =
            "Redirects the browser to the provider, or answers with the address when Accept names "
            "application/json. With a user's token the identity is linked to that user's account.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/auth/v1/google/callback",
        .id = "auth_provider_callback",
        .auth = AUTH_OPTIONAL,
        .body = &callback_schema,
        .success = {200, &auth_provider_tokens_schema},
        .extra_statuses = {403, 404, 409, 502},
        .run = provider_callback,
        .class = CLASS_AUTH,
        .summary = "Finish a sign-in with the code and state that the provider sent",
        .doc = "The page /auth/ui/ sends code and state in the same way. A started sign-in can be "
               "finished once, within ten minutes.",
    },
};
ROUTES(auth_provider, "Sign-in");
