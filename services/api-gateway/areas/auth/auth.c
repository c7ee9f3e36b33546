/* /auth/v1: sign in with a password, refresh, sign out, the project's public keys. */
#include "areas/access/users.h"
#include "areas/auth/auth_input.h"
#include "areas/auth/auth_key.h"
#include "areas/auth/auth_session.h"
#include "auth_password.h"
#include "auth_sql.h"
#include "base/email.h"
#include "crypto/password.h"
#include "stages/stages.h"

struct token_in {
    struct in_str grant_type;
    struct in_str email;
    struct in_str username;
    struct in_str password;
    struct in_str refresh_token;
};

static const char *const grant_types[] = {"password", "refresh_token", NULL};

static const struct field token_fields[] = {
    {.name = "grant_type",
     FIELD_AT(struct token_in, grant_type),
     .type = FIELD_STR,
     .values = grant_types,
     .doc = "password when left out"},
    {.name = "email", FIELD_AT(struct token_in, email), .type = FIELD_STR, .max = 254},
    {.name = "username",
     FIELD_AT(struct token_in, username),
     .type = FIELD_STR,
     .max = 254,
     .doc = "The e-mail address, as RFC 6749 names it"},
    {.name = "password",
     FIELD_AT(struct token_in, password),
     .type = FIELD_STR,
     .write_only = true,
     .max = PASSWORD_MAX_BYTES,
     .format = "password"},
    {.name = "refresh_token",
     FIELD_AT(struct token_in, refresh_token),
     .type = FIELD_STR,
     .write_only = true,
     .max = 512,
     .doc = "With the grant type refresh_token"},
};
/* Clients of other services send additional members (gotrue_meta_security), which are ignored. */
static const struct schema token_schema = {
    .name = "SignIn",
    .fields = token_fields,
    .count = ARRAY_LEN(token_fields),
    .struct_bytes = sizeof(struct token_in),
    .allows_unknown = true,
};

struct refresh_in {
    struct in_str refresh_token;
};
static const struct field refresh_fields[] = {
    {.name = "refresh_token",
     FIELD_AT(struct refresh_in, refresh_token),
     .type = FIELD_STR,
     .required = true,
     .write_only = true,
     .max = 512},
};
static const struct schema refresh_schema = {
    .name = "Refresh",
    .fields = refresh_fields,
    .count = ARRAY_LEN(refresh_fields),
    .struct_bytes = sizeof(struct refresh_in),
    .allows_unknown = true,
};

/* --- sign in --- */

/*
 * Guesses are counted before anything is hashed: by network address, then by account. A sign-in
 * from an address of one of the account's sessions has a separate counter, so that guesses from
 * elsewhere never lock the owner out.
 */
AWAITS static int
find_account(struct req *r, struct str typed, struct rows *ret_account, struct str *ret_hash)
{
    const struct email_forms forms = email_forms_of(r->task.arena, typed);
    struct str email = email_canonical(r->task.arena, typed);
    struct str network = rate_limit_network(r);
    bool wide = memchr(network.ptr, '/', network.len) != NULL;
    struct str counted = email;

    TRY(rate_limit_address(r, "address"));
    TRY(sql_all(r,
                ret_account,
                SQL_AUTH_ACCOUNT(.emails = sql_strs(forms.forms, forms.count),
                                 .address = str_from(r->peer),
                                 .network = wide ? network : STR_NONE)));
    *ret_hash = auth_password_decoy_hash(r, email);
    if (ret_account->count) {
        const struct sql_auth_account_row account = sql_auth_account_row(ret_account, 0);
        counted = account.email; /* whichever spelling was sent */
        if (account.password_hash.ptr)
            *ret_hash = account.password_hash;
        if (account.known_address)
            counted = arena_printf(r->task.arena, "%.*s %.*s", STR_ARG(counted), STR_ARG(network));
    }
    return rate_limit_sign_in(
        r, "account", counted, r->scope->project->settings.rate_sign_in_account);
}

/* Unknown accounts, accounts without a password and wrong passwords answer alike at the same
 * cost. */
AWAITS static int sign_in(struct req *r, struct str email, struct str password)
{
    struct auth_tokens tokens;
    struct rows account;
    struct str hash;
    struct str new_hash;
    bool right;

    if (password.len > PASSWORD_MAX_BYTES)
        return fail_field(
            r, "password", PROBLEM_TOO_LONG, "must have at most %d bytes", PASSWORD_MAX_BYTES);
    TRY(find_account(r, email, &account, &hash));
    TRY(auth_password_check(r, hash, password, &right, &new_hash));
    if (!right || !account.count)
        return fail(r, PROBLEM_INVALID_CREDENTIALS, "The e-mail address or the password is wrong.");
    const struct sql_auth_account_row row = sql_auth_account_row(&account, 0);
    TRY(auth_account_check(r, row.status, row.confirmed));
    TRY(auth_session_start(r, row.id, hash, new_hash, &tokens));
    return auth_tokens_reply(r, &tokens);
}

AWAITS static int auth_refresh_session(struct req *r, struct str token)
{
    struct auth_tokens tokens;

    TRY(auth_session_refresh(r, token, &tokens));
    return auth_tokens_reply(r, &tokens);
}

static int fail_required(struct req *r, const char *field)
{
    return fail_field(r, field, PROBLEM_REQUIRED, "is required");
}

static const struct query_param token_query[] = {
    {.name = "grant_type",
     .type = FIELD_STR,
     .values = grant_types,
     .fallback = "password",
     .doc = "Same as grant_type in the body; the query takes precedence"},
    {0},
};

AWAITS static int auth_token(struct req *r)
{
    const struct query *query;
    struct token_in in;
    struct str grant_type;

    TRY(req_query(r, &query));
    TRY(auth_read_body(r, &token_schema, &in));
    grant_type = query_get(query, "grant_type");
    if (!grant_type.len)
        grant_type = in.grant_type.value;
    if (str_is(grant_type, "refresh_token"))
        return in.refresh_token.value.len ? auth_refresh_session(r, in.refresh_token.value)
                                          : fail_required(r, "refresh_token");
    struct str email = in.email.value.len ? in.email.value : in.username.value;
    if (!email.len)
        return fail_required(r, "email");
    if (!in.password.value.len)
        return fail_required(r, "password");
    return sign_in(r, email, in.password.value);
}

AWAITS static int auth_refresh(struct req *r)
{
    struct refresh_in in;

    TRY(auth_read_body(r, &refresh_schema, &in));
    return auth_refresh_session(r, in.refresh_token.value);
}

/* --- sign out --- */

static const struct query_param logout_query[] = {
    {.name = "scope",
     .type = FIELD_STR,
     .values = (const char *const[]){"local", "others", "global", NULL},
     .fallback = "global",
     .doc = "local ends the session of the request, others ends the user's other sessions, global "
            "ends all sessions of the user"},
    {0},
};

AWAITS static int auth_logout(struct req *r)
{
    const struct query *query;
    struct rows ended;
    struct str scope;

    TRY(req_query(r, &query));
    scope = query_get(query, "scope");
    TRY(sql_all(r,
                &ended,
                SQL_SESSIONS_SIGN_OUT(.user_id = r->scope->caller->user_id,
                                      .id = r->scope->caller->session_id,
                                      .which = scope.len ? scope : STR("global"))));
    if (ended.count) /* do not drop the project's caches for nothing */
        gateway_raise_epoch(r);
    return reply_empty(r, 204);
}

/* --- the signed-in user --- */

AWAITS static int auth_user(struct req *r)
{
    struct rows user;

    TRY(sql_one(r, &user, SQL_ACCOUNT_USER(.id = r->scope->caller->user_id)));
    return reply_row(r, 200, &user);
}

/* --- keys --- */

static const struct field jwk_fields[] = {
    {.name = "kty", .type = FIELD_STR, .required = true, .example = "\"EC\""},
    {.name = "crv", .type = FIELD_STR, .required = true, .example = "\"P-256\""},
    {.name = "alg", .type = FIELD_STR, .required = true, .example = "\"ES256\""},
    {.name = "use", .type = FIELD_STR, .required = true, .example = "\"sig\""},
    {.name = "kid", .type = FIELD_STR, .required = true},
    {.name = "x", .type = FIELD_STR, .required = true},
    {.name = "y", .type = FIELD_STR, .required = true},
};
static const struct schema jwk_schema = SCHEMA_OUT("PublicKey", jwk_fields);
static const struct field jwks_fields[] = {
    {.name = "keys", .type = FIELD_LIST, .required = true, .sub = &jwk_schema},
};
static const struct schema jwks_schema = SCHEMA_OUT("PublicKeys", jwks_fields);

AWAITS static int auth_jwks(struct req *r)
{
    struct rows keys;
    struct jw w;

    TRY(sql_all(r, &keys, SQL_SIGNING_KEYS_PUBLIC()));
    w = resp_json(r);
    jw_obj(&w);
    jw_lit(&w, "keys");
    jw_arr(&w);
    for (size_t i = 0; i < keys.count; i++) {
        jw_obj(&w);
        JW_CSTR(&w, "kty", "EC");
        JW_CSTR(&w, "crv", "P-256");
        JW_CSTR(&w, "alg", "ES256");
        JW_CSTR(&w, "use", "sig");
        rows_json_members(&w, &keys, i);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    r->no_store = false;
    resp_header(r, "Cache-Control", STR("public, max-age=60"));
    return reply_json(r, 200);
}

/* --- discovery --- */

static const struct field discovery_fields[] = {
    {.name = "issuer", .type = FIELD_STR, .required = true},
    {.name = "jwks_uri", .type = FIELD_STR, .required = true},
    {.name = "token_endpoint", .type = FIELD_STR, .required = true},
    {.name = "authorization_endpoint", .type = FIELD_STR, .required = true},
    {.name = "userinfo_endpoint", .type = FIELD_STR, .required = true},
    {.name = "response_types_supported", .type = FIELD_STRS, .required = true},
    {.name = "grant_types_supported", .type = FIELD_STRS, .required = true},
    {.name = "subject_types_supported", .type = FIELD_STRS, .required = true},
    {.name = "id_token_signing_alg_values_supported", .type = FIELD_STRS, .required = true},
    {.name = "token_endpoint_auth_methods_supported", .type = FIELD_STRS, .required = true},
};
static const struct schema discovery_schema = SCHEMA_OUT("OpenIdConfiguration", discovery_fields);

static void put_url(struct req *r, struct jw *w, const char *name, const char *path)
{
    jw_key(w, str_from(name));
    jw_str(w, arena_printf(r->task.arena, "%.*s%s", STR_ARG(gateway_base_url(r)), path));
}

/* Services that check access tokens find the keys by the issuer (OpenID Connect Discovery 1.0). */
AWAITS static int auth_discovery(struct req *r)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    put_url(r, &w, "issuer", "");
    put_url(r, &w, "jwks_uri", "/auth/v1/.well-known/jwks.json");
    put_url(r, &w, "token_endpoint", "/auth/v1/token");
    put_url(r, &w, "authorization_endpoint", "/auth/v1/google/authorize");
    put_url(r, &w, "userinfo_endpoint", "/auth/v1/user");
    jw_lit(&w, "response_types_supported");
    jw_raw(&w, STR("[\"code\"]"));
    jw_lit(&w, "grant_types_supported");
    jw_raw(&w, STR("[\"password\",\"refresh_token\"]"));
    jw_lit(&w, "subject_types_supported");
    jw_raw(&w, STR("[\"public\"]"));
    jw_lit(&w, "id_token_signing_alg_values_supported");
    jw_raw(&w, STR("[\"ES256\"]"));
    jw_lit(&w, "token_endpoint_auth_methods_supported");
    jw_raw(&w, STR("[\"none\"]"));
    jw_obj_end(&w);
    r->no_store = false;
    resp_header(r, "Cache-Control", STR("public, max-age=60"));
    return reply_json(r, 200);
}

static const struct field rotated_fields[] = {
    {.name = "kid",
     .type = FIELD_STR,
     .required = true,
     .doc = "Id of the key that signs from now on"},
};
static const struct schema rotated_schema = SCHEMA_OUT("SigningKey", rotated_fields);

AWAITS static int auth_rotate(struct req *r)
{
    struct str kid;
    struct jw w;

    TRY(auth_key_rotate(r, &kid));
    gateway_raise_epoch(r);
    w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w, "kid", kid);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route auth_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/auth/v1/token",
        .id = "auth_token",
        .auth = AUTH_PUBLIC,
        .query = token_query,
        .body = &token_schema,
        .success = {200, &auth_tokens_schema},
        .extra_statuses = {401, 403},
        .run = auth_token,
        .class = CLASS_AUTH,
        .summary = "Sign in with e-mail address and password",
        .doc = "As JSON, or as a form with the names of RFC 6749. A wrong password and an unknown "
               "account get the same answer.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/auth/v1/refresh",
        .id = "auth_refresh",
        .auth = AUTH_PUBLIC,
        .body = &refresh_schema,
        .success = {200, &auth_tokens_schema},
        .extra_statuses = {401, 403},
        .run = auth_refresh,
        .class = CLASS_AUTH,
        .summary = "Exchange a refresh token for new tokens",
        .doc = "A refresh token can be used once. A second use within ten seconds, or within a "
               "minute while the token's successor is unused, returns the same successor. Any "
               "other second use ends the session.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/auth/v1/logout",
        .id = "auth_logout",
        .auth = AUTH_USER,
        .query = logout_query,
        .success = {204},
        .run = auth_logout,
        .class = CLASS_AUTH,
        .summary = "End sessions of the caller",
    },
    {
        .method = HTTP_GET_M,
        .path = "/auth/v1/user",
        .id = "auth_user",
        .auth = AUTH_USER,
        .success = {200, &auth_user_schema},
        .extra_statuses = {404},
        .run = auth_user,
        .summary = "Get the account that is signed in",
    },
    {
        .method = HTTP_GET_M,
        .path = "/.well-known/openid-configuration",
        .id = "auth_discovery",
        .auth = AUTH_PUBLIC,
        .success = {200, &discovery_schema},
        .run = auth_discovery,
        .summary = "Get the addresses of the issuer's keys and endpoints",
    },
    {
        .method = HTTP_GET_M,
        .path = "/auth/v1/.well-known/openid-configuration",
        .id = "auth_discovery_of_sign_in",
        .auth = AUTH_PUBLIC,
        .success = {200, &discovery_schema},
        .run = auth_discovery,
        .summary = "Get the same document as /.well-known/openid-configuration",
    },
    {
        .method = HTTP_GET_M,
        .path = "/auth/v1/.well-known/jwks.json",
        .id = "auth_jwks",
        .auth = AUTH_PUBLIC,
        .success = {200, &jwks_schema},
        .run = auth_jwks,
        .summary = "Get the public keys that verify access tokens",
    },
    {
        .method = HTTP_POST_M,
        .path = "/auth/v1/keys/rotate",
        .id = "auth_rotate",
        .auth = AUTH_ADMIN,
        .success = {200, &rotated_schema},
        .run = auth_rotate,
        .summary = "Sign access tokens with a new key",
        .doc = "The previous key stays published until the last token that it signed has expired.",
    },
};
ROUTES(auth, "Sign-in");
