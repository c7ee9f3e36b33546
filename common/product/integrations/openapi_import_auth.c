/* OpenAPI documents: security schemes. */
#include "base/panic.h"
#include "integrations/openapi_import_private.h"
#include "json/jr.h"

#define SCOPES_MAX 100
#define AUTH_STEPS 100 /* cost of one check by auth_fits() */
#define AUTH_BYTES 4096
#define SCHEMES    STR("document.components.securitySchemes")

static json_t *plain_auth(const char *scheme)
{
    json_t *auth = json_object();

    openapi_put(auth, "scheme", json_string(scheme));
    return auth;
}

static json_t *api_key_auth(struct openapi_reader *reader, const json_t *scheme)
{
    struct str place = jr_str(scheme, "in");
    json_t *auth;

    if (!str_is(place, "header") && !str_is(place, "query"))
        return NULL;
    auth = plain_auth(str_is(place, "header") ? "header" : "query");
    openapi_put_str(reader, auth, "name", jr_str(scheme, "name"));
    return auth;
}

static json_t *http_auth(const json_t *scheme)
{
    if (str_ieq(jr_str(scheme, "scheme"), STR("basic")))
        return plain_auth("basic");
    return str_ieq(jr_str(scheme, "scheme"), STR("bearer")) ? plain_auth("bearer") : NULL;
}

static json_t *oauth_auth(struct openapi_reader *reader, const json_t *scheme)
{
    const json_t *flows = json_object_get(scheme, "flows");
    const json_t *code = json_object_get(flows, "authorizationCode");
    const json_t *flow = code != NULL ? code : json_object_get(flows, "clientCredentials");
    const char *name;
    json_t *ignored;

    if (!json_is_object(flow))
        return NULL;
    json_t *auth = plain_auth(code != NULL ? "oauth2_code" : "oauth2_client_credentials");
    json_t *scopes = json_array();
    if (code != NULL)
        openapi_put_str(reader, auth, "authorization_url", jr_str(flow, "authorizationUrl"));
    openapi_put_str(reader, auth, "token_url", jr_str(flow, "tokenUrl"));
    json_object_foreach(json_object_get(flow, "scopes"), name, ignored)
    {
        size_t len = strlen(name);
        if (json_array_size(scopes) >= SCOPES_MAX || !openapi_count_cost(reader, 1, len))
            break;
        reader->json_bytes += len;
        MUST(json_array_append_new(scopes, json_string(name)) == 0);
    }
    openapi_put(auth, "scopes", scopes);
    return auth;
}

static bool auth_fits(struct openapi_reader *reader, const json_t *auth)
{
    struct schema_errors errors = {0};
    struct integration_auth in;

    if (!schema_decode(reader->arena, &integration_auth_schema, auth, &in, &errors))
        return false;
    integration_check_auth(reader->arena, &in, &errors);
    return errors.count == 0;
}

/* Converts a security scheme. Arena-owned; NULL = not supported. */
static json_t *auth_of(struct openapi_reader *reader, const json_t *given)
{
    const json_t *scheme = openapi_follow(reader, given, SCHEMES);
    struct str type = jr_str(scheme, "type");
    json_t *auth = NULL;

    if (str_is(type, "apiKey"))
        auth = api_key_auth(reader, scheme);
    else if (str_is(type, "http"))
        auth = http_auth(scheme);
    else if (str_is(type, "oauth2"))
        auth = oauth_auth(reader, scheme);
    if (auth == NULL)
        return NULL;
    (void)jr_attach(reader->arena, auth);
    return openapi_count_cost(reader, AUTH_STEPS, AUTH_BYTES) && auth_fits(reader, auth) ? auth
                                                                                         : NULL;
}

/* Returns the first supported scheme that the document's `security` requires alone, else the first
 * supported scheme of all. */
json_t *openapi_auth(struct openapi_reader *reader)
{
    const json_t *schemes =
        json_object_get(json_object_get(reader->root, "components"), "securitySchemes");
    const json_t *wanted = json_object_get(reader->root, "security");
    const char *name;
    json_t *scheme;
    json_t *auth;

    for (size_t i = 0; i < json_array_size(wanted) && !reader->is_over_limit; i++) {
        json_t *requirement = json_array_get(wanted, i);
        if (json_object_size(requirement) != 1)
            continue;
        name = json_object_iter_key(json_object_iter(requirement));
        auth = auth_of(reader, json_object_get(schemes, name));
        if (auth != NULL)
            return json_incref(auth);
    }
    json_object_foreach((json_t *)schemes, name, scheme)
    {
        auth = auth_of(reader, scheme);
        if (auth != NULL)
            return json_incref(auth);
        if (reader->is_over_limit)
            break;
    }
    if (json_object_size(schemes) > 0)
        openapi_skip(reader, STR("securitySchemes"), "integrations support none of them");
    return plain_auth("none");
}
