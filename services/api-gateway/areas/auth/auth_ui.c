/* The page /auth/ui/ and its own routes: the settings that the page shows, and the way back to the
 * application. */
#include "auth_page.h"

#include "areas/auth/auth_flow.h"
#include "areas/auth/auth_oidc.h"
#include "areas/mail/mail_flow.h"
#include "static_files.h"

/* Everything comes from this folder alone; the logo and the API have the same origin. No form is
 * submitted without the script, because it would send a password in an address. */
#define AUTH_UI_POLICY                                                                             \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "        \
    "'self'; "                                                                                     \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "                                \
    "require-trusted-types-for 'script'; trusted-types svelte-trusted-html"

static const char auth_ui_missing[] =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Sign in</title>\n"
    "<h1>This page is not built</h1>\n"
    "<p>The operator of the service runs <code>make console</code> in the source tree, then starts "
    "the gateway with <code>GROUNDWORK_CONSOLE</code> or <code>GROUNDWORK_AUTH_UI</code> naming "
    "the directory <code>build/console</code>.</p>\n</html>\n";

/* --- the files --- */

/* Returns the part of the path below AUTH_PAGE_PATH. No ptr: the path lacks the final slash. */
static struct str name_below(struct req *r)
{
    const char *mount =
        memmem(r->path.ptr, r->path.len, AUTH_PAGE_PATH, sizeof(AUTH_PAGE_PATH) - 1);

    if (!mount)
        return STR_NONE;
    const char *name = mount + sizeof(AUTH_PAGE_PATH) - 1;
    return (struct str){name, (size_t)(r->path.ptr + r->path.len - name)};
}

AWAITS static int auth_ui_get(struct req *r)
{
    struct static_folder folder = {auth_page_folder(), AUTH_UI_POLICY, "auth.html"};
    struct str name = name_below(r);

    if (auth_page_is_off())
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    if (!name.ptr) { /* the page names its files relative to the folder */
        resp_header(
            r,
            "Location",
            arena_printf(r->task.arena, "ui/%s%.*s", r->query.len ? "?" : "", STR_ARG(r->query)));
        return reply_empty(r, 308);
    }
    if (!name.len)
        return static_page_send(r, &folder, "no-cache", auth_ui_missing);
    int status = static_file_send(r, &folder, name, static_cache_of(name));
    return status != 0 ? status : fail(r, PROBLEM_NOT_FOUND, NULL);
}

/* --- settings for the page --- */

static const struct query_param settings_query[] = {
    {.name = "redirect_to",
     .type = FIELD_STR,
     .doc =
         "Refused with 400 redirect_not_allowed unless it is one of the project's redirect_urls"},
    {0},
};

static const struct field settings_fields[] = {
    {.name = "name", .type = FIELD_STR, .required = true, .doc = "Of the project"},
    {.name = "accent_color", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "logo_file_id",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "A picture at /files/{id}/public"},
    {.name = "password_min_length", .type = FIELD_I64, .required = true},
    {.name = "magic_link",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "Whether mails with links can be sent: the project has a page that the links open"},
    {.name = "provider",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Name of the identity provider of /auth/v1/google/authorize: Google, or the issuer's "
            "host"},
    {.name = "sign_up",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "Whether a sign-in at the provider may create an account"},
    {.name = "page_url",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Public address of the project's page /auth/ui/"},
};
static const struct schema settings_schema = SCHEMA_OUT("SignInSettings", settings_fields);

/* Returns the name of the provider that a button shows. */
static struct str provider_name(struct str issuer)
{
    const char *host = issuer.len ? memmem(issuer.ptr, issuer.len, "://", 3) : NULL;

    if (!host)
        return issuer;
    if (oidc_issuer_is(issuer, STR("https://accounts.google.com")))
        return STR("Google");
    struct str rest = {host + 3, (size_t)(issuer.ptr + issuer.len - host - 3)};
    return str_split(&rest, '/');
}

static int auth_settings(struct req *r)
{
    const struct project *project = r->scope->project;
    const struct project_settings *settings = &project->settings;
    const struct query *query;
    struct str mail_page;

    TRY(req_query(r, &query));
    struct str redirect_to = query_get(query, "redirect_to");
    if (redirect_to.ptr)
        TRY(auth_check_redirect(r, redirect_to));
    TRY(mail_flow_page(r, &(struct in_str){0}, &mail_page));
    struct jw w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w, "name", project->name);
    JW_STR_OR_NULL(&w, "accent_color", settings->accent_color);
    jw_lit(&w, "logo_file_id");
    if (settings->logo_file_id > 0)
        jw_i64(&w, settings->logo_file_id);
    else
        jw_null(&w);
    JW_I64(&w, "password_min_length", settings->password_min_length);
    JW_BOOL(&w, "magic_link", mail_page.len > 0);
    JW_STR_OR_NULL(&w, "provider", provider_name(settings->oidc_issuer));
    JW_BOOL(&w, "sign_up", settings->oidc_issuer.len && settings->sign_up);
    JW_STR_OR_NULL(&w, "page_url", auth_page_own_url(r));
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* --- the way back to the application --- */

struct redirect_in {
    struct in_str redirect_to, code_challenge;
};
static const struct field redirect_fields[] = {
    {.name = "redirect_to",
     FIELD_AT(struct redirect_in, redirect_to),
     .type = FIELD_STR,
     .required = true,
     .max = 2048,
     .doc = "Page of the application; one of the project's redirect_urls",
     .example = "\"https://app.example.com/signed-in\""},
    {.name = "code_challenge",
     FIELD_AT(struct redirect_in, code_challenge),
     .type = FIELD_STR,
     .max = 43,
     .doc = "BASE64URL(SHA256(verifier)) of RFC 7636: the callback then needs code_verifier"},
};
static const struct schema redirect_schema =
    SCHEMA("Redirect", struct redirect_in, redirect_fields);

static const struct field redirected_fields[] = {
    {.name = "url",
     .type = FIELD_STR,
     .required = true,
     .doc = "redirect_to with code and state in its query"},
};
static const struct schema redirected_schema = SCHEMA_OUT("Redirected", redirected_fields);

AWAITS static int auth_redirect(struct req *r)
{
    struct auth_flow flow = {.session_id = r->scope->caller->session_id};
    struct redirect_in in;
    struct jw w;

    TRY(req_json(r, &redirect_schema, &in));
    TRY(auth_check_redirect(r, in.redirect_to.value));
    TRY(auth_flow_check_challenge(r, in.code_challenge.value));
    flow.redirect_to = in.redirect_to.value;
    flow.code_challenge = in.code_challenge.value;
    TRY(auth_flow_begin(r, &flow));
    struct str url = auth_flow_url(r->task.arena, flow.redirect_to, "code", flow.nonce);
    w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w, "url", auth_flow_url(r->task.arena, url, "state", flow.state));
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route auth_ui_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/auth/ui",
        .subtree = true,
        .id = "auth_ui_get",
        .auth = AUTH_PUBLIC,
        .open_query = true, /* the page's script reads the query */
        .success = {200, .content_type = "text/html"},
        .extra_statuses = {304, 308, 404},
        .run = auth_ui_get,
        .hidden = true,
        .summary = "The page for sign-in and for links in mails",
    },
    {
        .method = HTTP_GET_M,
        .path = "/auth/v1/settings",
        .id = "auth_settings",
        .auth = AUTH_PUBLIC,
        .query = settings_query,
        .success = {200, &settings_schema},
        .run = auth_settings,
        .summary = "Get what a page for sign-in shows: name, logo, color, ways to sign in",
    },
    {
        .method = HTTP_POST_M,
        .path = "/auth/v1/redirect",
        .id = "auth_redirect",
        .auth = AUTH_USER,
        .body = &redirect_schema,
        .success = {200, &redirected_schema},
        .run = auth_redirect,
        .summary = "Pass the caller's session on to a page of the application",
        .doc = "The page sends code and state to /auth/v1/google/callback, once and within ten "
               "minutes. A new session begins there, and the caller's session ends.",
    },
};
ROUTES(auth_ui, "Sign-in");
