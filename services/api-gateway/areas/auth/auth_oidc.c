/* The issuer's side of external sign-in: discovery and the code exchange. */
#include "areas/auth/auth_oidc.h"

#include "base/codec.h"
#include "fetch/fetch.h"
#include "json/jr.h"

#define GOOGLE     "https://accounts.google.com"
#define GOOGLE_ALT "accounts.google.com"

#define ENDPOINT_BYTES 4096

bool oidc_issuer_is(struct str issuer, struct str iss)
{
    return str_eq(issuer, iss) || (str_is(issuer, GOOGLE) && str_is(iss, GOOGLE_ALT));
}

static int fail_provider(struct req *r)
{
    return fail(r, PROBLEM_PROVIDER_ERROR, "The identity provider did not answer correctly.");
}

/* Returns the member `name`, the URL of an endpoint that a browser or this gateway will open.
 * Returns STR_NONE unless the member is an http or https URL of at most ENDPOINT_BYTES. */
static struct str read_endpoint(const json_t *document, const char *name)
{
    struct str url = jr_str(document, name);

    if (!url.len || url.len > ENDPOINT_BYTES || fetch_url_check(url) == FETCH_BAD_URL)
        return STR_NONE;
    return url;
}

int oidc_check_configured(struct req *r)
{
    const struct project_settings *settings = &r->scope->project->settings;

    if (settings->oidc_issuer.len && settings->oidc_client_id.len)
        return 0;
    return fail(r, PROBLEM_NOT_FOUND, "This project has no identity provider configured.");
}

int oidc_client_load(struct req *r, struct oidc_client *ret_client)
{
    const struct project_settings *settings = &r->scope->project->settings;
    struct arena *arena = r->task.arena;
    struct oidc_client client;
    struct str base;
    json_t *document;
    int rc;

    TRY(oidc_check_configured(r));
    client = (struct oidc_client){
        .issuer = arena_dup(arena, settings->oidc_issuer),
        .client_id = arena_dup(arena, settings->oidc_client_id),
        .client_secret = arena_dup(arena, settings->oidc_client_secret),
        .trust_email = settings->oidc_trust_email,
    };
    base = client.issuer;
    if (str_ends(base, STR("/")))
        base.len--;
    rc = oidc_document(&r->task,
                       arena_printf(arena, "%.*s/.well-known/openid-configuration", STR_ARG(base)),
                       false,
                       &document);
    if (rc)
        return rc > 0 ? fail_provider(r) : rc;
    client.authorization_endpoint = read_endpoint(document, "authorization_endpoint");
    client.token_endpoint = read_endpoint(document, "token_endpoint");
    client.jwks_uri = read_endpoint(document, "jwks_uri");
    if (!str_eq(jr_str(document, "issuer"), client.issuer) || !client.authorization_endpoint.len ||
        !client.token_endpoint.len || !client.jwks_uri.len)
        return fail_provider(r);
    *ret_client = client;
    return 0;
}

/* Returns whether the issuer refused the code. Other errors of RFC 6749, 5.2 are not about the
 * code. */
static bool is_code_refused(const struct fetch_response *response, struct arena *arena)
{
    struct jr_error error;
    json_t *root;

    if (response->status != 400 && response->status != 401)
        return false;
    return jr_parse_external(arena, response->body, &root, &error) == 0 &&
           str_is(jr_str(root, "error"), "invalid_grant");
}

int oidc_exchange(struct req *r, const struct oidc_client *client, struct oidc_exchange *exchange)
{
    const struct fetch_header headers[] = {
        {STR("Content-Type"), STR("application/x-www-form-urlencoded")},
        {STR("Accept"), STR("application/json")},
    };
    struct arena *arena = r->task.arena;
    struct fetch_response response;
    struct jr_error error;
    struct strbuf form;
    json_t *root;
    int rc;

    strbuf_init(&form, arena, 65536);
    codec_form_add(&form, STR("grant_type"), STR("authorization_code"));
    codec_form_add(&form, STR("code"), exchange->code);
    codec_form_add(&form, STR("redirect_uri"), exchange->redirect_uri);
    codec_form_add(&form, STR("client_id"), client->client_id);
    if (client->client_secret.len)
        codec_form_add(&form, STR("client_secret"), client->client_secret);
    codec_form_add(&form, STR("code_verifier"), exchange->code_verifier);
    if (form.overflow)
        return fail(r, PROBLEM_INVALID_CREDENTIALS, "The identity provider refused the code.");
    rc = fetch(&r->task,
               &(struct fetch_request){
                   .method = STR("POST"),
                   .url = client->token_endpoint,
                   .headers = headers,
                   .nheaders = ARRAY_LEN(headers),
                   .body = strbuf_view(&form),
                   .purpose = FETCH_IDENTITY,
                   .once = true, /* never repeated: a code that may have arrived is used up */
               },
               &response);
    if (rc)
        return rc > 0 ? fail_provider(r) : rc;
    if (is_code_refused(&response, arena))
        return fail(r, PROBLEM_INVALID_CREDENTIALS, "The identity provider refused the code.");
    if (response.status != 200 || jr_parse_external(arena, response.body, &root, &error) != 0)
        return fail_provider(r);
    exchange->id_token = jr_str(root, "id_token");
    exchange->access_token = jr_str(root, "access_token");
    return exchange->id_token.len ? 0 : fail_provider(r);
}
