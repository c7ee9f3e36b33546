/* Builds requests of operations. */
#include "integrations/outgoing.h"

#include "base/codec.h"
#include "base/panic.h"
#include "base/secret_mask.h"
#include "integrations/content_type.h"
#include "json/jr.h"
#include "workflow/secrets.h"

#define HEADERS_MAX 120 /* including credentials and traceparent; fetch() accepts fewer */
#define BODY_BYTES  2097152

struct draft_request {
    struct arena *arena;
    struct fill_values *values;
    const struct integration_operation *operation;
    struct outgoing_request *out;
    struct schema_errors *errors;
    struct strbuf url, masked_url;
    bool has_query; /* the URL has a query */
};

/* --- forms --- */

/* Adds a value to a form; an array becomes one field for each item, all with the same name. */
static void
form_value(struct strbuf *form, struct arena *arena, struct str name, const json_t *value)
{
    if (!json_is_array(value)) {
        if (!json_is_null(value))
            codec_form_add(form, name, fill_text_of(arena, value));
        return;
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        codec_form_add(form, name, fill_text_of(arena, json_array_get(value, i)));
}

/* --- the address --- */

static void url_append(struct draft_request *draft, struct str text)
{
    strbuf_str(&draft->url, text);
    strbuf_str(&draft->masked_url, text);
}

/* Appends a value to the URL. `masked_url` gets a mask instead of a secret value. */
static void url_append_value(struct draft_request *draft, struct str escaped, bool secret)
{
    strbuf_str(&draft->url, escaped);
    strbuf_str(&draft->masked_url, secret ? STR(SECRETS_MASK) : escaped);
}

static bool value_is_missing(const struct integration_param *param, const json_t *value)
{
    return value == NULL || (integration_place_of(param) == IN_PATH && json_is_string(value) &&
                             json_string_length(value) == 0);
}

static int value_refuse(struct draft_request *draft, struct str param, const char *what)
{
    schema_error_add(draft->arena,
                     draft->errors,
                     arena_printf(draft->arena, "params.%.*s", STR_ARG(param)),
                     PROBLEM_PATTERN,
                     "%s",
                     what);
    return INTEGRATION_FAILED;
}

static int path_put_value(struct draft_request *draft, struct str name)
{
    const struct integration_param *param = integration_param_find(draft->operation, name);
    const json_t *value = fill_value_of(draft->values, name);

    if (param == NULL || value_is_missing(param, value))
        return value_refuse(draft, name, "must not be empty in a path");
    url_append_value(draft,
                     codec_percent(draft->arena, fill_text_of(draft->arena, value)),
                     fill_is_hidden(draft->operation, param));
    return 0;
}

/* Refuses dot segments, which would leave the intended path: dots in values are not encoded. */
static int check_segments(struct draft_request *draft, size_t begin)
{
    struct str path = {draft->url.ptr + begin, draft->url.len - begin};

    while (path.ptr != NULL)
        if (integration_segment_is_dots(str_split(&path, '/')))
            return value_refuse(draft, STR("*"), "must not give the path a segment . or ..");
    return 0;
}

static int path_put(struct draft_request *draft, struct str base_url)
{
    struct str rest = draft->operation->path.value;

    while (base_url.len > 0 && base_url.ptr[base_url.len - 1] == '/')
        base_url.len--;
    url_append(draft, base_url);
    size_t begin = draft->url.len;
    while (rest.len > 0) {
        const char *open = memchr(rest.ptr, '{', rest.len);
        size_t plain = open != NULL ? (size_t)(open - rest.ptr) : rest.len;
        url_append(draft, (struct str){rest.ptr, plain});
        rest = (struct str){rest.ptr + plain, rest.len - plain};
        if (rest.len == 0)
            break;
        const char *close = memchr(rest.ptr, '}', rest.len);
        size_t slot = close != NULL ? (size_t)(close - rest.ptr) : rest.len;
        TRY(path_put_value(draft, (struct str){rest.ptr + 1, slot - 1}));
        rest = slot + 1 < rest.len ? (struct str){rest.ptr + slot + 1, rest.len - slot - 1}
                                   : (struct str){rest.ptr, 0};
    }
    return draft->url.overflow ? INTEGRATION_TOO_LARGE : check_segments(draft, begin);
}

static void query_put(struct draft_request *draft, struct str name, struct str value, bool secret)
{
    url_append(draft, draft->has_query ? STR("&") : STR("?"));
    url_append(draft, codec_percent(draft->arena, name));
    url_append(draft, STR("="));
    url_append_value(draft, codec_percent(draft->arena, value), secret);
    draft->has_query = true;
}

static void put_query_param(struct draft_request *draft,
                            const struct integration_param *param,
                            const json_t *value)
{
    struct str name = integration_wire_name(param);
    bool hidden = fill_is_hidden(draft->operation, param);

    if (!json_is_array(value)) {
        query_put(draft, name, fill_text_of(draft->arena, value), hidden);
        return;
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        query_put(draft, name, fill_text_of(draft->arena, json_array_get(value, i)), hidden);
}

/* --- headers --- */

void outgoing_add_header(struct outgoing_request *outgoing, const char *name, struct str value)
{
    for (size_t i = 0; i < outgoing->request.nheaders; i++)
        if (str_ieq(outgoing->headers[i].name, str_from(name)))
            return;
    MUST(outgoing->request.nheaders < HEADERS_MAX);
    outgoing->headers[outgoing->request.nheaders++] =
        (struct fetch_header){.name = str_from(name), .value = value};
}

static bool is_field_line(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (((unsigned char)text.ptr[i] < ' ' && text.ptr[i] != '\t') || text.ptr[i] == 0x7f)
            return false;
    return true;
}

/* Returns a header's value; an array becomes a comma-separated list (RFC 9110, 5.3). */
static struct str outgoing_list(struct arena *arena, const json_t *value)
{
    struct strbuf list;

    if (!json_is_array(value))
        return fill_text_of(arena, value);
    strbuf_init(&list, arena, FILL_BYTES_MAX);
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (i > 0)
            strbuf_cstr(&list, ", ");
        strbuf_str(&list, fill_text_of(arena, json_array_get(value, i)));
    }
    return (struct str){strbuf_cstring(&list), list.len};
}

static int
put_header_param(struct draft_request *draft, struct str param, struct str name, struct str value)
{
    if (!is_field_line(value))
        return value_refuse(draft, param, "must be one line in a header");
    outgoing_add_header(draft->out, arena_cstr(draft->arena, name), value);
    return 0;
}

static int params_put(struct draft_request *draft)
{
    const struct integration_param *params = draft->operation->params.items;

    for (size_t i = 0; i < draft->operation->params.count; i++) {
        const json_t *value = fill_value_of(draft->values, params[i].name.value);
        enum integration_place location = integration_place_of(&params[i]);
        if (value == NULL)
            continue;
        if (location == IN_QUERY)
            put_query_param(draft, &params[i], value);
        else if (location == IN_HEADER)
            TRY(put_header_param(draft,
                                 params[i].name.value,
                                 integration_wire_name(&params[i]),
                                 outgoing_list(draft->arena, value)));
    }
    return 0;
}

static int templates_put(struct draft_request *draft)
{
    const char *name;
    json_t *item;
    struct str text;

    json_object_foreach(draft->operation->query.value, name, item)
    {
        struct str template = fill_text_of(draft->arena, item);
        TRY(fill_text(draft->arena, draft->values, template, &text));
        query_put(draft,
                  str_from(name),
                  text,
                  secret_is_credential_name(str_from(name)) ||
                      fill_names_secret(draft->operation, template));
    }
    json_object_foreach(draft->operation->headers.value, name, item)
    {
        TRY(fill_text(draft->arena, draft->values, fill_text_of(draft->arena, item), &text));
        TRY(put_header_param(draft, STR("*"), str_from(name), text));
    }
    return 0;
}

/* --- the body --- */

/* Returns the body of an operation that has no body template: an object of the parameters with
 * "in": "body". NULL = the operation has no such parameter. */
static json_t *plain_body(struct draft_request *draft)
{
    const struct integration_param *params = draft->operation->params.items;
    json_t *body = NULL;

    for (size_t i = 0; i < draft->operation->params.count; i++) {
        json_t *value = fill_value_of(draft->values, params[i].name.value);
        if (integration_place_of(&params[i]) != IN_BODY)
            continue;
        if (body == NULL)
            body = jr_attach(draft->arena, json_object());
        struct str name = integration_wire_name(&params[i]);
        if (value != NULL)
            MUST(json_object_setn_nocheck(body, name.ptr, name.len, value) == 0);
    }
    return body;
}

static int form_print(struct draft_request *draft, json_t *body, struct str *ret_text)
{
    const char *name;
    json_t *item;
    struct strbuf form;

    strbuf_init(&form, draft->arena, BODY_BYTES);
    json_object_foreach(body, name, item) form_value(&form, draft->arena, str_from(name), item);
    *ret_text = (struct str){strbuf_cstring(&form), form.len};
    return form.overflow ? INTEGRATION_TOO_LARGE : 0;
}

static int json_print(struct draft_request *draft, const json_t *body, struct str *ret_text)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, draft->arena, BODY_BYTES);
    jw_init(&w, &text);
    jw_json(&w, body);
    *ret_text = (struct str){strbuf_cstring(&text), text.len};
    return text.overflow ? INTEGRATION_TOO_LARGE : 0;
}

/* Returns the Content-Type that the operation's headers set. */
static struct content_type outgoing_type(const struct draft_request *draft)
{
    const struct outgoing_request *out = draft->out;

    for (size_t i = 0; i < out->request.nheaders; i++)
        if (str_ieq(out->headers[i].name, STR("content-type")))
            return content_type_read(draft->arena, out->headers[i].value);
    return (struct content_type){0};
}

static int body_put(struct draft_request *draft)
{
    const struct integration_operation *operation = draft->operation;
    const json_t *template = operation->body.value;
    bool form = str_is(operation->body_type.value, "form");
    const struct content_type type = outgoing_type(draft);
    json_t *body = NULL;

    if (template != NULL && !json_is_null(template))
        TRY(fill_json(draft->arena, draft->values, template, &body));
    else
        body = plain_body(draft);
    if (body == NULL)
        return 0;
    if (!form && content_type_takes_text(&type, body)) {
        draft->out->request.body = (struct str){json_string_value(body), json_string_length(body)};
        return 0;
    }
    TRY(form ? form_print(draft, body, &draft->out->request.body)
             : json_print(draft, body, &draft->out->request.body));
    outgoing_add_header(draft->out,
                        "Content-Type",
                        form ? STR("application/x-www-form-urlencoded") : STR("application/json"));
    return 0;
}

int outgoing_build(struct arena *arena,
                   struct str base_url,
                   struct fill_values *values,
                   struct outgoing_request *ret_outgoing,
                   struct schema_errors *errors)
{
    struct draft_request draft = {
        .arena = arena,
        .values = values,
        .operation = values->operation,
        .out = ret_outgoing,
        .errors = errors,
    };

    *ret_outgoing =
        (struct outgoing_request){.request = {.method = values->operation->method.value}};
    ret_outgoing->headers = ARENA_ARRAY(arena, ret_outgoing->headers, HEADERS_MAX);
    strbuf_init(&draft.url, arena, FETCH_MAX_URL_BYTES);
    strbuf_init(&draft.masked_url, arena, (size_t)2 * FETCH_MAX_URL_BYTES);
    TRY(path_put(&draft, base_url));
    TRY(params_put(&draft));
    TRY(templates_put(&draft));
    TRY(body_put(&draft));
    outgoing_add_header(ret_outgoing, "Accept", STR("application/json"));
    if (draft.url.overflow)
        return INTEGRATION_TOO_LARGE;
    ret_outgoing->request.headers = ret_outgoing->headers;
    ret_outgoing->request.url = (struct str){strbuf_cstring(&draft.url), draft.url.len};
    ret_outgoing->masked_url = strbuf_view(&draft.masked_url);
    return 0;
}

/* --- credentials --- */

static struct str url_with_credentials(struct arena *arena,
                                       struct str url,
                                       const struct outgoing_credentials *credentials)
{
    bool query = memchr(url.ptr, '?', url.len) != NULL;

    return arena_printf(arena,
                        "%.*s%c%.*s=%.*s",
                        STR_ARG(url),
                        query ? '&' : '?',
                        STR_ARG(codec_percent(arena, credentials->name)),
                        STR_ARG(codec_percent(arena, credentials->token)));
}

static struct str authorization(struct arena *arena, const struct outgoing_credentials *credentials)
{
    if (credentials->scheme == SCHEME_BEARER)
        return arena_printf(arena, "Bearer %.*s", STR_ARG(credentials->token));
    struct str pair = arena_printf(
        arena, "%.*s:%.*s", STR_ARG(credentials->username), STR_ARG(credentials->password));
    return arena_printf(arena, "Basic %.*s", STR_ARG(codec_b64(arena, pair)));
}

struct fetch_request outgoing_add_credentials(struct arena *arena,
                                              const struct outgoing_request *outgoing,
                                              const struct outgoing_credentials *credentials,
                                              struct str url)
{
    struct fetch_request request = outgoing->request;
    struct fetch_header *headers = ARENA_ARRAY(arena, headers, request.nheaders + 1);

    memcpy(headers, outgoing->headers, request.nheaders * sizeof(*headers));
    request.headers = headers;
    if (url.ptr != NULL)
        request.url = url;
    if (credentials->scheme == SCHEME_QUERY)
        request.url = url_with_credentials(arena, request.url, credentials);
    else if (credentials->scheme == SCHEME_HEADER)
        headers[request.nheaders++] = (struct fetch_header){
            .name = credentials->name,
            .value = arena_printf(
                arena, "%.*s%.*s", STR_ARG(credentials->prefix), STR_ARG(credentials->token)),
        };
    else if (credentials->scheme != SCHEME_NONE)
        headers[request.nheaders++] = (struct fetch_header){
            .name = STR("Authorization"),
            .value = authorization(arena, credentials),
        };
    return request;
}

/* --- redirects --- */

struct str outgoing_redirect(struct arena *arena, struct str from, struct str location)
{
    struct str url;

    if (fetch_url_join(arena, from, location, &url) != 0 ||
        !str_eq(integration_origin(arena, url), integration_origin(arena, from)))
        return STR_NONE;
    return url;
}
