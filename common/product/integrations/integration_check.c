/* Validates the parts of an integration that its schema cannot. */
#include "integrations/integration.h"

#include <stdarg.h>

#include "base/ascii.h"
#include "fetch/fetch.h"
#include "integrations/fill.h"
#include "workflow/template.h"

#define MAP_MEMBERS_MAX   100
#define HEADERS_MAX       50
#define TEMPLATE_TEXT_MAX 4096
#define ENUM_MAX          200

/* The context of a check. */
struct check_context {
    struct arena *arena;
    struct schema_errors *errors;
    struct str at; /* the place of findings: "operations[3]" */
    const struct integration_operation *operation;
    const struct integration_auth *auth;
    size_t *fills_left; /* expressions that the operation's templates may still have */
};

static void finding_add(const struct check_context *in,
                        const char *member,
                        enum problem code,
                        const char *format,
                        ...) PRINTF_LIKE(4, 5);

static void finding_add(
    const struct check_context *in, const char *member, enum problem code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct str message = arena_vprintf(in->arena, format, args);
    va_end(args);
    schema_error_add(
        in->arena,
        in->errors,
        arena_printf(
            in->arena, "%.*s%s%s", STR_ARG(in->at), in->at.len && member[0] ? "." : "", member),
        code,
        "%.*s",
        STR_ARG(message));
}

/* --- names on the wire --- */

static bool is_header_name(struct str name)
{
    return name.len > 0 && name.len <= 100 && ascii_has_only(name, ASCII_ALNUM, ASCII_TOKEN_MARKS);
}

/* Returns whether a header is set by fetch() or reserved for credentials. */
static bool is_reserved_header(const struct check_context *in, struct str name)
{
    if (fetch_header_is_reserved(name) || str_ieq(name, STR("authorization")))
        return true;
    return in->auth != NULL && integration_scheme_of(in->auth) == SCHEME_HEADER &&
           str_ieq(name, in->auth->name.value);
}

static bool is_reserved_query(const struct check_context *in, struct str name)
{
    return in->auth != NULL && integration_scheme_of(in->auth) == SCHEME_QUERY &&
           str_eq(name, in->auth->name.value);
}

static void
check_wire_name(const struct check_context *in, enum integration_place location, struct str name)
{
    if (location == IN_HEADER && !is_header_name(name))
        finding_add(in, "", PROBLEM_PATTERN, "is not a header name");
    else if (location == IN_HEADER && is_reserved_header(in, name))
        finding_add(in,
                    "",
                    PROBLEM_VALIDATION_FAILED,
                    "must not be set here: the HTTP client or the credentials set it");
    else if (location == IN_QUERY && is_reserved_query(in, name))
        finding_add(
            in, "", PROBLEM_VALIDATION_FAILED, "must not be set here: the credentials set it");
}

/* --- auth --- */

static void check_url(const struct check_context *in, const char *member, const struct in_str *url)
{
    const char *fault = url->value.len ? integration_url_fault(url->value, true) : NULL;

    if (fault != NULL)
        finding_add(in, member, PROBLEM_PATTERN, "%s", fault);
}

static void check_needed(const struct check_context *in,
                         const char *member,
                         const struct in_str *value,
                         bool needed)
{
    if (needed && !value->value.len)
        finding_add(in, member, PROBLEM_REQUIRED, "is required by the scheme");
    else if (!needed && value->value.len)
        finding_add(in, member, PROBLEM_VALIDATION_FAILED, "is not allowed by the scheme");
}

/* An optional member: only refused if the scheme does not allow it. */
static void check_allowed(const struct check_context *in,
                          const char *member,
                          const struct in_str *value,
                          bool fits)
{
    if (!fits)
        check_needed(in, member, value, false);
}

static bool text_is_one_line(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f)
            return false;
    return true;
}

/* RFC 6749, 3.3: scope-token. */
static bool is_scope(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~' || text.ptr[i] == '"' || text.ptr[i] == '\\')
            return false;
    return text.len > 0 && text.len <= 500;
}

static void check_auth_texts(const struct check_context *in, const struct integration_auth *auth)
{
    check_url(in, "authorization_url", &auth->authorization_url);
    check_url(in, "token_url", &auth->token_url);
    check_url(in, "revocation_url", &auth->revocation_url);
    if (!text_is_one_line(auth->prefix.value))
        finding_add(in, "prefix", PROBLEM_PATTERN, "must be one line");
    if (integration_scheme_of(auth) == SCHEME_HEADER && auth->name.value.len &&
        !is_header_name(auth->name.value))
        finding_add(in, "name", PROBLEM_PATTERN, "is not a header name");
    for (size_t i = 0; i < auth->scopes.count; i++)
        if (!is_scope(auth->scopes.items[i]))
            finding_add(in,
                        arena_printf(in->arena, "scopes[%zu]", i).ptr,
                        PROBLEM_PATTERN,
                        "must be printable ASCII without blanks, quotes and \\");
}

void integration_check_auth(struct arena *arena,
                            const struct integration_auth *auth,
                            struct schema_errors *errors)
{
    const struct check_context in = {.arena = arena, .errors = errors, .at = STR("auth")};
    enum integration_scheme scheme = integration_scheme_of(auth);
    bool oauth = scheme == SCHEME_OAUTH2_CLIENT || scheme == SCHEME_OAUTH2_CODE;

    check_needed(&in, "name", &auth->name, scheme == SCHEME_HEADER || scheme == SCHEME_QUERY);
    check_allowed(&in, "prefix", &auth->prefix, scheme == SCHEME_HEADER);
    check_needed(&in, "token_url", &auth->token_url, oauth);
    check_needed(&in, "authorization_url", &auth->authorization_url, scheme == SCHEME_OAUTH2_CODE);
    check_allowed(&in, "revocation_url", &auth->revocation_url, oauth);
    check_allowed(&in, "audience", &auth->audience, oauth);
    check_allowed(&in, "client_auth", &auth->client_auth, oauth);
    check_allowed(&in, "client_id", &auth->client_id, scheme == SCHEME_OAUTH2_CODE);
    check_allowed(&in, "client_secret", &auth->client_secret, scheme == SCHEME_OAUTH2_CODE);
    if (!oauth && auth->scopes.count)
        finding_add(&in, "scopes", PROBLEM_VALIDATION_FAILED, "is not allowed by the scheme");
    check_auth_texts(&in, auth);
}

/* --- parameters --- */

static bool is_param_name(struct str name)
{
    return name.len > 0 && name.len <= 100 && ascii_has_only(name, ASCII_ALNUM, "_-.[]$@:");
}

static void check_enum(const struct check_context *in, const struct integration_param *param)
{
    const json_t *list = param->values.value;

    if (list == NULL || json_is_null(list))
        return;
    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > ENUM_MAX) {
        finding_add(
            in, "enum", PROBLEM_TYPE_MISMATCH, "must be an array of 1 to %d values", ENUM_MAX);
        return;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (json_is_object(item) || json_is_array(item) || json_is_null(item))
            finding_add(in,
                        arena_printf(in->arena, "enum[%zu]", i).ptr,
                        PROBLEM_TYPE_MISMATCH,
                        "expected a text, a number or a boolean");
    }
}

static void check_param(const struct check_context *in, const struct integration_param *param)
{
    enum integration_place location = integration_place_of(param);
    struct str type = param->type.value;

    if (!is_param_name(param->name.value))
        finding_add(in, "name", PROBLEM_PATTERN, "must be letters, digits and _-.[]$@:");
    else if (integration_param_find(in->operation, param->name.value) != param)
        finding_add(in, "name", PROBLEM_UNIQUE_VIOLATION, "another parameter has this name");
    if (location != IN_BODY && (str_is(type, "object") || str_is(type, "any")))
        finding_add(
            in, "type", PROBLEM_VALIDATION_FAILED, "object and any are only allowed in a body");
    if (location == IN_PATH && str_is(type, "array"))
        finding_add(in, "type", PROBLEM_VALIDATION_FAILED, "an array is not allowed in a path");
    if (location == IN_PATH && param->required.set && !param->required.value)
        finding_add(
            in, "required", PROBLEM_VALIDATION_FAILED, "must be true for a parameter in the path");
    check_enum(in, param);
    check_wire_name(in, location, integration_wire_name(param));
}

static void check_operation_params(const struct check_context *in)
{
    const struct integration_param *params = in->operation->params.items;

    for (size_t i = 0; i < in->operation->params.count; i++) {
        struct check_context inner = *in;
        inner.at = arena_printf(in->arena, "%.*s.params[%zu]", STR_ARG(in->at), i);
        check_param(&inner, &params[i]);
    }
}

/* Checks a default as if a caller had sent it as the parameter's value. */
static void check_defaults(const struct check_context *in)
{
    const struct integration_param *params = in->operation->params.items;

    for (size_t i = 0; i < in->operation->params.count; i++) {
        const json_t *fallback = params[i].fallback.value;
        struct schema_errors found = {0};
        struct fill_values ignored;
        if (fallback == NULL || json_is_null(fallback))
            continue;
        const struct integration_operation alone = {
            .params = {.set = true, .count = 1, .items = (void *)&params[i]}};
        if (!fill_values_read(in->arena, &alone, NULL, &ignored, &found))
            finding_add(in,
                        arena_printf(in->arena, "params[%zu].default", i).ptr,
                        PROBLEM_TYPE_MISMATCH,
                        "%.*s",
                        STR_ARG(found.items[0].message));
    }
}

/* --- paths --- */

/* Cuts the next {name} off *rest; returns false when there is none. The name of a brace that is not
 * closed is STR_NONE. */
static bool next_slot(struct str *rest, struct str *ret_name)
{
    const char *open = memchr(rest->ptr, '{', rest->len);

    if (open == NULL)
        return false;
    struct str tail = {open + 1, rest->len - (size_t)(open - rest->ptr) - 1};
    const char *close = memchr(tail.ptr, '}', tail.len);
    *ret_name = STR_NONE;
    if (close != NULL)
        *ret_name = (struct str){tail.ptr, (size_t)(close - tail.ptr)};
    *rest = close == NULL ? (struct str){rest->ptr + rest->len, 0}
                          : (struct str){close + 1, tail.len - (size_t)(close - tail.ptr) - 1};
    return true;
}

static bool path_has_name(struct str path, struct str name)
{
    struct str slot;

    while (next_slot(&path, &slot))
        if (slot.ptr != NULL && str_eq(slot, name))
            return true;
    return false;
}

static bool path_is_plain(struct str path)
{
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] <= ' ' || path.ptr[i] > '~' || ascii_is_in(path.ptr[i], "?#\\\"<>"))
            return false;
    return path.len > 0 && path.ptr[0] == '/' && !str_starts(path, STR("//"));
}

static bool has_dot_segment(struct str path)
{
    while (path.ptr != NULL) {
        if (integration_segment_is_dots(str_split(&path, '/')))
            return true;
    }
    return false;
}

static void check_path(const struct check_context *in)
{
    const struct integration_param *params = in->operation->params.items;
    struct str path = in->operation->path.value;
    struct str rest = path;
    struct str name;

    if (!path_is_plain(path) || has_dot_segment(path))
        finding_add(in,
                    "path",
                    PROBLEM_PATTERN,
                    "must begin with one /, be printable ASCII without ? # \\ < > and quotes, and "
                    "have no segment . or ..");
    while (next_slot(&rest, &name)) {
        const struct integration_param *param =
            name.ptr != NULL ? integration_param_find(in->operation, name) : NULL;
        if (name.ptr == NULL)
            finding_add(in, "path", PROBLEM_PATTERN, "has { without }");
        else if (param == NULL || integration_place_of(param) != IN_PATH)
            finding_add(in,
                        "path",
                        PROBLEM_VALIDATION_FAILED,
                        "names an unknown path parameter: %.*s",
                        STR_ARG(name));
    }
    for (size_t i = 0; i < in->operation->params.count; i++)
        if (integration_place_of(&params[i]) == IN_PATH &&
            !path_has_name(path, params[i].name.value))
            finding_add(in,
                        arena_printf(in->arena, "params[%zu].name", i).ptr,
                        PROBLEM_VALIDATION_FAILED,
                        "the path has no {%.*s}",
                        STR_ARG(params[i].name.value));
}

/* --- templates --- */

static void check_operation_texts(const struct check_context *in,
                                  const char *member,
                                  enum integration_place location,
                                  const struct in_json *map)
{
    const char *name;
    size_t len;
    json_t *item;

    if (json_object_size(map->value) > HEADERS_MAX)
        finding_add(in, member, PROBLEM_TOO_LONG, "must have at most %d members", HEADERS_MAX);
    json_object_keylen_foreach(map->value, name, len, item)
    {
        struct check_context inner = *in;
        struct str key = {name, len};
        inner.at = arena_printf(in->arena, "%.*s.%s.%.*s", STR_ARG(in->at), member, STR_ARG(key));
        check_wire_name(&inner, location, key);
        const char *fault = fill_fault(in->arena, in->operation, item, in->fills_left);
        if (!json_is_string(item))
            finding_add(&inner, "", PROBLEM_TYPE_MISMATCH, "expected a text");
        else if (json_string_length(item) > TEMPLATE_TEXT_MAX)
            finding_add(
                &inner, "", PROBLEM_TOO_LONG, "must be at most %d bytes", TEMPLATE_TEXT_MAX);
        else if (fault != NULL)
            finding_add(&inner, "", PROBLEM_VALIDATION_FAILED, "%s", fault);
    }
}

static void check_body(const struct check_context *in)
{
    const struct integration_operation *operation = in->operation;
    const struct integration_param *params = operation->params.items;
    bool has_template = operation->body.value != NULL && !json_is_null(operation->body.value);
    bool bodiless =
        str_is(operation->method.value, "GET") || str_is(operation->method.value, "HEAD");
    const char *fault;

    if (bodiless && has_template)
        finding_add(
            in, "body", PROBLEM_VALIDATION_FAILED, "must be left out: the method has no body");
    for (size_t i = 0; bodiless && i < operation->params.count; i++)
        if (integration_place_of(&params[i]) == IN_BODY)
            finding_add(in,
                        arena_printf(in->arena, "params[%zu].in", i).ptr,
                        PROBLEM_VALIDATION_FAILED,
                        "the method has no body");
    if (!has_template)
        return;
    fault = fill_fault(in->arena, operation, operation->body.value, in->fills_left);
    if (fault != NULL)
        finding_add(in, "body", PROBLEM_VALIDATION_FAILED, "%s", fault);
    if (str_is(operation->body_type.value, "form") && !json_is_object(operation->body.value))
        finding_add(in, "body", PROBLEM_TYPE_MISMATCH, "must be an object if body_type is form");
}

/* --- answers --- */

static void check_answer_path(const struct check_context *in, const char *member, struct str path)
{
    struct reference *ignored;
    struct str reason;

    if (path.len && reference_parse_path(in->arena, path, &ignored, &reason) != 0)
        finding_add(in, member, PROBLEM_PATTERN, "%.*s", STR_ARG(reason));
}

static void check_response(const struct check_context *in)
{
    const struct integration_response *response = in->operation->response.value;
    const char *name;
    json_t *item;

    if (response == NULL)
        return;
    check_answer_path(in, "response.results_path", response->results_path.value);
    if (json_object_size(response->map.value) > MAP_MEMBERS_MAX)
        finding_add(
            in, "response.map", PROBLEM_TOO_LONG, "must have at most %d members", MAP_MEMBERS_MAX);
    json_object_foreach(response->map.value, name, item)
    {
        const char *member = arena_printf(in->arena, "response.map.%s", name).ptr;
        struct str path = {json_string_value(item), json_string_length(item)};
        if (!json_is_string(item) || path.len == 0)
            finding_add(in, member, PROBLEM_TYPE_MISMATCH, "expected a path");
        else
            check_answer_path(in, member, path);
    }
}

/* --- the whole --- */

static bool operation_name_is_used(const struct integration_in *in, size_t index)
{
    const struct integration_operation *operations = in->operations.items;

    for (size_t i = 0; i < index; i++)
        if (str_eq(operations[i].name.value, operations[index].name.value))
            return true;
    return false;
}

static void check_operation(const struct check_context *in)
{
    if (!integration_name_ok(in->operation->name.value))
        finding_add(
            in, "name", PROBLEM_PATTERN, "must be a letter, then letters, digits, _, - and .");
    check_operation_params(in);
    check_defaults(in);
    check_path(in);
    check_operation_texts(in, "headers", IN_HEADER, &in->operation->headers);
    check_operation_texts(in, "query", IN_QUERY, &in->operation->query);
    check_body(in);
    check_response(in);
}

bool integration_check(struct arena *arena,
                       const struct integration_in *in,
                       struct schema_errors *errors)
{
    const struct integration_operation *operations = in->operations.items;
    const struct integration_auth *auth = in->auth.value;
    const struct check_context root = {.arena = arena, .errors = errors};
    const char *fault = integration_url_fault(in->base_url.value, false);
    size_t before = errors->count;

    if (!integration_name_ok(in->name.value))
        finding_add(
            &root, "name", PROBLEM_PATTERN, "must be a letter, then letters, digits, _, - and .");
    if (fault != NULL)
        finding_add(&root, "base_url", PROBLEM_PATTERN, "%s", fault);
    if (auth != NULL)
        integration_check_auth(arena, auth, errors);
    for (size_t i = 0; i < in->operations.count; i++) {
        size_t fills_left = INTEGRATION_FILLS_MAX;
        struct check_context inner = {
            .arena = arena,
            .errors = errors,
            .at = arena_printf(arena, "operations[%zu]", i),
            .operation = &operations[i],
            .auth = auth,
            .fills_left = &fills_left,
        };
        if (operation_name_is_used(in, i))
            finding_add(
                &inner, "name", PROBLEM_UNIQUE_VIOLATION, "another operation has this name");
        check_operation(&inner);
    }
    return errors->count == before;
}
