/* Schemas of integrations, and access to stored ones. */
#include "integrations/integration.h"

#include "base/ascii.h"
#include "base/codec.h"
#include "fetch/fetch.h"
#include "json/jr.h"

#define URL_MAX        2048
#define NAME_MAX_CHARS 64

const char *const integration_schemes[] = {
    "none",
    "header",
    "query",
    "basic",
    "bearer",
    "oauth2_client_credentials",
    "oauth2_code",
    NULL,
};
static const char *const client_auths[] = {"basic", "body", NULL};
static const char *const methods[] = {
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", NULL};
static const char *const places[] = {"path", "query", "header", "body", NULL};
static const char *const types[] = {
    "string", "integer", "number", "boolean", "array", "object", "any", NULL};
static const char *const body_types[] = {"json", "form", NULL};

/* --- auth --- */

/* clang-format off */
#define AUTH_TEXT(member, most, about, sample)                                                     \
    {.name = #member, FIELD_AT(struct integration_auth, member), .type = FIELD_STR,                \
     .nullable = true, .max = (most), .doc = (about), .example = (sample)}
/* clang-format on */

static const struct field auth_fields[] = {
    {.name = "scheme",
     FIELD_AT(struct integration_auth, scheme),
     .type = FIELD_STR,
     .required = true,
     .values = integration_schemes,
     .doc = "How requests carry the credentials of a connection",
     .example = "\"bearer\""},
    AUTH_TEXT(name,
              100,
              "For the schemes header and query: the name of the header or query parameter that "
              "carries the credential",
              "\"X-Api-Key\""),
    AUTH_TEXT(prefix, 50, "For the scheme header: the text before the credential", "\"Token \""),
    AUTH_TEXT(authorization_url,
              URL_MAX,
              "For oauth2_code: the page on which users give their consent",
              "\"https://login.example.com/authorize\""),
    AUTH_TEXT(token_url,
              URL_MAX,
              "For OAuth 2: where codes and credentials are exchanged for tokens",
              "\"https://login.example.com/token\""),
    AUTH_TEXT(revocation_url,
              URL_MAX,
              "For OAuth 2: where tokens are revoked (RFC 7009)",
              "\"https://login.example.com/revoke\""),
    AUTH_TEXT(client_id, 500, "For oauth2_code: the id of the project's client", "\"groundwork\""),
    {.name = "client_secret",
     FIELD_AT(struct integration_auth, client_secret),
     .type = FIELD_STR,
     .nullable = true,
     .max = 4096,
     .doc = "For oauth2_code: the secret of the project's client; a public client has none. Shown "
            "as \"********\"; a change that sends this text keeps the stored secret",
     .example = "\"********\""},
    {.name = "client_auth",
     FIELD_AT(struct integration_auth, client_auth),
     .type = FIELD_STR,
     .nullable = true,
     .values = client_auths,
     .doc = "How clients authenticate at token_url: with HTTP Basic (default) or in the body",
     .example = "\"basic\""},
    AUTH_TEXT(audience,
              500,
              "For OAuth 2: the parameter \"audience\" of token requests, sent unchanged",
              "\"https://api.example.com\""),
    {.name = "scopes",
     FIELD_AT(struct integration_auth, scopes),
     .type = FIELD_STRS,
     .nullable = true,
     .max = 100,
     .doc = "For OAuth 2: the scopes to request",
     .example = "[\"contacts.read\"]"},
};
const struct schema integration_auth_schema =
    SCHEMA("IntegrationAuth", struct integration_auth, auth_fields);

/* --- operations --- */

static const struct field param_fields[] = {
    {.name = "name",
     FIELD_AT(struct integration_param, name),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = 100,
     .example = "\"user_id\""},
    {.name = "in",
     FIELD_AT(struct integration_param, in),
     .type = FIELD_STR,
     .required = true,
     .values = places,
     .example = "\"path\""},
    {.name = "as",
     FIELD_AT(struct integration_param, as),
     .type = FIELD_STR,
     .nullable = true,
     .min = 1,
     .max = 100,
     .doc = "The parameter's name in requests to the API, if it differs from \"name\"",
     .example = "\"userId\""},
    {.name = "type",
     FIELD_AT(struct integration_param, type),
     .type = FIELD_STR,
     .nullable = true,
     .values = types,
     .doc = "string by default; object and any are only for bodies, and an array outside of a "
            "body may hold only texts, numbers and booleans",
     .example = "\"integer\""},
    {.name = "required", FIELD_AT(struct integration_param, required), .type = FIELD_BOOL},
    {.name = "secret",
     FIELD_AT(struct integration_param, secret),
     .type = FIELD_BOOL,
     .doc = "The values of the parameter are masked wherever calls are shown"},
    {.name = "default",
     FIELD_AT(struct integration_param, fallback),
     .type = FIELD_JSON,
     .doc = "The value of the parameter if the caller gives none; null = the parameter is not sent",
     .example = "1"},
    {.name = "enum",
     FIELD_AT(struct integration_param, values),
     .type = FIELD_JSON,
     .doc = "An array of the allowed values",
     .example = "[\"open\", \"closed\"]"},
    {.name = "description",
     FIELD_AT(struct integration_param, description),
     .type = FIELD_STR,
     .nullable = true,
     .max = 1000,
     .example = "\"Whose orders\""},
};
static const struct schema param_schema =
    SCHEMA("IntegrationParam", struct integration_param, param_fields);

static const struct field response_fields[] = {
    {.name = "results_path",
     FIELD_AT(struct integration_response, results_path),
     .type = FIELD_STR,
     .nullable = true,
     .max = 500,
     .doc = "The path to the part of the answer that is returned: names and indexes, such as "
            "data.items[0].name; [*] selects every item of an array. Default: the whole answer",
     .example = "\"data.items\""},
    {.name = "map",
     FIELD_AT(struct integration_response, map),
     .type = FIELD_MAP,
     .nullable = true,
     .doc =
         "The members of the result as {member: path}. The paths begin at the part that "
         "results_path selects, or at each of its items if the part is an array; a missing value "
         "becomes null",
     .example = "{\"id\": \"id\", \"name\": \"attributes.name\"}"},
};
static const struct schema response_schema =
    SCHEMA("IntegrationResponse", struct integration_response, response_fields);

static const struct field operation_fields[] = {
    {.name = "name",
     FIELD_AT(struct integration_operation, name),
     .type = FIELD_STR,
     .required = true,
     .max = NAME_MAX_CHARS,
     .doc = "A letter, then letters, digits, _, - and .",
     .example = "\"getUser\""},
    {.name = "description",
     FIELD_AT(struct integration_operation, description),
     .type = FIELD_STR,
     .nullable = true,
     .max = 1000,
     .example = "\"One user\""},
    {.name = "method",
     FIELD_AT(struct integration_operation, method),
     .type = FIELD_STR,
     .required = true,
     .values = methods,
     .example = "\"GET\""},
    {.name = "path",
     FIELD_AT(struct integration_operation, path),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = 500,
     .doc =
         "The path below base_url, with {name} in place of a path parameter; characters that are "
         "not ASCII are stored percent-encoded",
     .example = "\"/users/{user_id}\""},
    {.name = "params",
     FIELD_AT(struct integration_operation, params),
     .type = FIELD_LIST,
     .sub = &param_schema,
     .max = INTEGRATION_PARAMS_MAX},
    {.name = "headers",
     FIELD_AT(struct integration_operation, headers),
     .type = FIELD_MAP,
     .nullable = true,
     .doc = "Header values. {{ name }} is replaced by the value of a parameter; at most 2000 "
            "such expressions in headers, query and body together",
     .example = "{\"X-Tenant\": \"{{ tenant }}\"}"},
    {.name = "query",
     FIELD_AT(struct integration_operation, query),
     .type = FIELD_MAP,
     .nullable = true,
     .doc = "Query parameters. {{ name }} in a value is replaced by the value of a parameter",
     .example = "{\"expand\": \"owner\"}"},
    {.name = "body",
     FIELD_AT(struct integration_operation, body),
     .type = FIELD_JSON,
     .doc =
         "Any JSON. {{ name }} in a text is replaced by the value of a parameter. A text that is "
         "only {{ name }} becomes the parameter's value of any type, and is left out if the "
         "parameter has no value. Without this member, the parameters with \"in\": \"body\" are "
         "sent as members of an object. A body that is a text is sent unchanged if \"headers\" set "
         "a Content-Type other than JSON",
     .example = "{\"user\": {\"name\": \"{{ name }}\"}}"},
    {.name = "body_type",
     FIELD_AT(struct integration_operation, body_type),
     .type = FIELD_STR,
     .nullable = true,
     .values = body_types,
     .doc = "The format of the body; json by default",
     .example = "\"json\""},
    {.name = "response",
     FIELD_AT(struct integration_operation, response),
     .type = FIELD_OBJ,
     .nullable = true,
     .sub = &response_schema},
    {.name = "follow_redirects",
     FIELD_AT(struct integration_operation, follow_redirects),
     .type = FIELD_BOOL,
     .doc = "Only for GET and HEAD, at most three redirects, and only to the scheme, host and "
            "port of base_url"},
    {.name = "timeout_seconds",
     FIELD_AT(struct integration_operation, timeout_seconds),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = INTEGRATION_SECONDS_MAX,
     .doc = "Time limit of a call; 10 by default",
     .example = "10"},
};
const struct schema integration_operation_schema =
    SCHEMA("IntegrationOperation", struct integration_operation, operation_fields);

/* --- the whole --- */

/* clang-format off */
#define INTEGRATION_MEMBERS(new)                                                                   \
    {.name = "name", FIELD_AT(struct integration_in, name), .type = FIELD_STR, .required = (new),  \
     .max = NAME_MAX_CHARS, .doc = "A letter, then letters, digits, _, - and .",                   \
     .example = "\"crm\""},                                                                        \
    {.name = "description", FIELD_AT(struct integration_in, description), .type = FIELD_STR,       \
     .nullable = true, .max = 1000},                                                               \
    {.name = "base_url", FIELD_AT(struct integration_in, base_url), .type = FIELD_STR,             \
     .required = (new), .max = URL_MAX, .doc = "An absolute address without a query; "             \
     "characters that are not ASCII are stored percent-encoded",                                   \
     .example = "\"https://api.example.com/v1\""},                                                 \
    {.name = "auth", FIELD_AT(struct integration_in, auth), .type = FIELD_OBJ,                     \
     .sub = &integration_auth_schema, .doc = "How requests authenticate. A change "                \
     "replaces it as a whole. Default: scheme none"},                                              \
    {.name = "operations", FIELD_AT(struct integration_in, operations), .type = FIELD_LIST,        \
     .sub = &integration_operation_schema, .max = INTEGRATION_OPERATIONS_MAX,                      \
     .doc = "A change replaces the whole list"}
/* clang-format on */

static const struct field integration_create_fields[] = {INTEGRATION_MEMBERS(true)};
static const struct field integration_update_fields[] = {INTEGRATION_MEMBERS(false)};
const struct schema integration_create_schema =
    SCHEMA("IntegrationCreate", struct integration_in, integration_create_fields);
const struct schema integration_update_schema =
    SCHEMA("IntegrationUpdate", struct integration_in, integration_update_fields);

static const struct field integration_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"crm\""},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "base_url",
     .type = FIELD_STR,
     .required = true,
     .example = "\"https://api.example.com/v1\""},
    {.name = "auth", .type = FIELD_OBJ, .required = true, .sub = &integration_auth_schema},
    {.name = "operations",
     .type = FIELD_LIST,
     .required = true,
     .sub = &integration_operation_schema},
    {.name = "version", .type = FIELD_I64, .required = true, .doc = "Increases with every change"},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
const struct schema integration_out_schema = SCHEMA_OUT("Integration", integration_out_fields);

/* --- stored parts --- */

static int integration_read_stored(struct arena *arena,
                                   const struct schema *schema,
                                   struct str text,
                                   void *ret_struct)
{
    struct schema_errors errors = {0};
    struct jr_error error;
    json_t *value;

    if (jr_parse_stored(arena, text, &value, &error) != 0 ||
        !schema_decode(arena, schema, value, ret_struct, &errors))
        return INTEGRATION_BAD;
    return 0;
}

int integration_auth_read(struct arena *arena, struct str text, struct integration_auth *ret_auth)
{
    return integration_read_stored(arena, &integration_auth_schema, text, ret_auth);
}

int integration_operation_read(struct arena *arena,
                               struct str text,
                               struct integration_operation *ret_operation)
{
    return integration_read_stored(arena, &integration_operation_schema, text, ret_operation);
}

/* --- members --- */

/* Returns the index of a name in a NULL-terminated list; that of the NULL when it is missing. */
static int index_in(const char *const *names, struct str name)
{
    int i = 0;

    while (names[i] != NULL && !str_is(name, names[i]))
        i++;
    return i;
}

enum integration_scheme integration_scheme_of(const struct integration_auth *auth)
{
    int index = index_in(integration_schemes, auth->scheme.value);

    return index < INTEGRATION_SCHEMES ? (enum integration_scheme)index : SCHEME_NONE;
}

enum integration_place integration_place_of(const struct integration_param *param)
{
    return (enum integration_place)index_in(places, param->in.value);
}

struct str integration_wire_name(const struct integration_param *param)
{
    return param->as.value.len ? param->as.value : param->name.value;
}

const struct integration_param *
integration_param_find(const struct integration_operation *operation, struct str name)
{
    const struct integration_param *params = operation->params.items;

    for (size_t i = 0; i < operation->params.count; i++)
        if (str_eq(params[i].name.value, name))
            return &params[i];
    return NULL;
}

bool integration_name_ok(struct str name)
{
    return name.len > 0 && name.len <= NAME_MAX_CHARS && ascii_is(name.ptr[0], ASCII_LETTER) &&
           ascii_has_only(name, ASCII_ALNUM, "_-.");
}

struct str integration_origin(struct arena *arena, struct str url)
{
    struct str rest = url;
    struct str scheme = str_split(&rest, ':');
    bool secure = str_ieq(scheme, STR("https"));
    size_t end = 2;

    if (rest.ptr == NULL || !str_starts(rest, STR("//")))
        return STR_NONE;
    while (end < rest.len && !ascii_is_in(rest.ptr[end], "/?#"))
        end++;
    struct str host = {rest.ptr + 2, end - 2};
    size_t colon = host.len;
    while (colon > 0 && ascii_is(host.ptr[colon - 1], ASCII_DIGIT))
        colon--;
    bool has_port = colon > 0 && colon < host.len && host.ptr[colon - 1] == ':';
    if (!has_port && host.len > 0 && host.ptr[host.len - 1] == ':')
        host.len--;
    return arena_lower(arena,
                       arena_printf(arena,
                                    "%s://%.*s%s",
                                    secure ? "https" : "http",
                                    STR_ARG(host),
                                    has_port ? ""
                                    : secure ? ":443"
                                             : ":80"));
}

bool integration_segment_is_dots(struct str segment)
{
    size_t dots = 0;

    while (segment.len > 0) {
        bool escaped = segment.len >= 3 && str_ieq((struct str){segment.ptr, 3}, STR("%2e"));
        size_t length = escaped ? 3 : 1;
        if (!escaped && segment.ptr[0] != '.')
            return false;
        segment = (struct str){segment.ptr + length, segment.len - length};
        dots++;
    }
    return dots == 1 || dots == 2;
}

const char *integration_url_fault(struct str url, bool query_allowed)
{
    if (!schema_format_ok("url", url) || fetch_url_check(url) == FETCH_BAD_URL)
        return "must be an absolute http or https address of printable ASCII, without a user";
    if (memchr(url.ptr, '#', url.len) != NULL)
        return "must have no fragment";
    if (!query_allowed && memchr(url.ptr, '?', url.len) != NULL)
        return "must have no query";
    return NULL;
}

/* --- percent-encoding --- */

static void escape_member(struct arena *arena,
                          json_t *object,
                          const char *member,
                          struct str (*escape)(struct arena *arena, struct str text))
{
    struct str given = jr_str(object, member);
    struct str escaped = given.len > 0 ? escape(arena, given) : given;

    if (escaped.len != given.len)
        (void)json_object_set_new(object, member, json_stringn(escaped.ptr, escaped.len));
}

void integration_escape(struct arena *arena, json_t *body)
{
    static const char *const of_auth[] = {"authorization_url", "token_url", "revocation_url"};
    json_t *operations = json_object_get(body, "operations");

    escape_member(arena, body, "base_url", fetch_url_escape);
    for (size_t i = 0; i < ARRAY_LEN(of_auth); i++)
        escape_member(arena, json_object_get(body, "auth"), of_auth[i], fetch_url_escape);
    for (size_t i = 0; i < json_array_size(operations); i++)
        escape_member(arena, json_array_get(operations, i), "path", codec_percent_ascii);
}
