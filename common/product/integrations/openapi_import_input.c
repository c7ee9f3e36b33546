/* OpenAPI documents: parameters and bodies of operations. */
#include "base/ascii.h"
#include "base/map.h"
#include "base/panic.h"
#include "integrations/openapi_import_private.h"
#include "json/jr.h"

#define ALL_OF_DEPTH   8
#define ENUM_MAX       200
#define VALUE_BYTES    32  /* of a value in an enum, without its text */
#define LOCATION_BYTES 300 /* of the name of a place in findings */

/* --- schemas --- */

/* Returns the type of a schema; of a list (OpenAPI 3.1) the first type that is not "null". */
static struct str type_of(const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");

    for (size_t i = 0; i < json_array_size(type); i++) {
        const json_t *item = json_array_get(type, i);
        struct str name = {json_string_value(item), json_string_length(item)};
        if (json_is_string(item) && !str_is(name, "null"))
            return name;
    }
    return jr_str(schema, "type");
}

/* NOLINTBEGIN(misc-no-recursion): ALL_OF_DEPTH deep */
/* Returns the type of a schema or of the first part in its allOf that has one. */
static struct str
type_within(struct openapi_reader *reader, const json_t *schema, struct str at, int depth)
{
    if (!openapi_count_cost(reader, 1 + json_array_size(json_object_get(schema, "type")), 0))
        return STR_NONE;

    struct str type = type_of(schema);
    const json_t *parts = json_object_get(schema, "allOf");

    if (!type.len && json_is_object(json_object_get(schema, "properties")))
        return STR("object");
    for (size_t i = 0; !type.len && depth < ALL_OF_DEPTH && i < json_array_size(parts); i++)
        type = type_within(
            reader, openapi_follow(reader, json_array_get(parts, i), at), at, depth + 1);
    return type;
}
/* NOLINTEND(misc-no-recursion) */

static bool is_scalar_of(const json_t *value, struct str type)
{
    if (str_is(type, "integer"))
        return json_is_integer(value);
    if (str_is(type, "number"))
        return json_is_number(value);
    if (str_is(type, "boolean"))
        return json_is_boolean(value);
    return str_is(type, "string") && json_is_string(value);
}

/* Returns the values of an enum that have the type; NULL = no restriction. */
static json_t *scalars_of(struct openapi_reader *reader, const json_t *list, struct str type)
{
    json_t *values;

    if (json_array_size(list) == 0 || json_array_size(list) > ENUM_MAX)
        return NULL;
    values = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *value = json_array_get(list, i);
        size_t bytes = VALUE_BYTES + json_string_length(value);
        if (!is_scalar_of(value, type))
            continue;
        if (!openapi_count_cost(reader, 1, bytes))
            break;
        reader->json_bytes += bytes; /* the value is shared, but printed for each parameter */
        MUST(json_array_append(values, value) == 0);
    }
    if (json_array_size(values) > 0)
        return values;
    json_decref(values);
    return NULL;
}

/* Returns whether the enum `values` has the value; true without an enum. Counts each comparison
 * twice, because integration_check() repeats it. */
static bool values_contain(struct openapi_reader *reader, const json_t *values, const json_t *value)
{
    size_t count = json_array_size(values);

    if (!openapi_count_cost(reader, 2 * count, 2 * count * json_string_length(value)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (json_equal(json_array_get(values, i), value))
            return true;
    return values == NULL;
}

static void
openapi_put_default(struct openapi_reader *reader, json_t *param, const json_t *fallback)
{
    reader->json_bytes += json_string_length(fallback);
    openapi_put(param, "default", json_incref((json_t *)fallback));
}

void openapi_schema(
    struct openapi_reader *reader, const json_t *schema, struct str at, bool in_body, json_t *param)
{
    static const char *const plain[] = {"string", "integer", "number", "boolean"};
    const json_t *found = openapi_follow(reader, schema, at);
    struct str type = type_within(reader, found, at, 0);
    const json_t *fallback = json_object_get(found, "default");
    bool known = str_is(type, "array") || (in_body && str_is(type, "object"));

    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        known = known || str_is(type, plain[i]);
    if (!known)
        type = in_body ? STR("any") : STR("string");
    openapi_put_str(reader, param, "type", type);
    json_t *values = scalars_of(reader, json_object_get(found, "enum"), type);
    if (values != NULL)
        openapi_put(param, "enum", values);
    if (is_scalar_of(fallback, type) &&
        openapi_count_cost(reader, 1, json_string_length(fallback)) &&
        values_contain(reader, values, fallback))
        openapi_put_default(reader, param, fallback);
}

/* --- names of parameters --- */

static bool is_plain_param(struct str name)
{
    return name.len > 0 && name.len <= 100 && ascii_has_only(name, ASCII_ALNUM, "_-.[]$@:");
}

static bool params_have_name(const json_t *params, struct str name)
{
    for (size_t i = 0; i < json_array_size(params); i++)
        if (str_eq(jr_str(json_array_get(params, i), "name"), name))
            return true;
    return false;
}

/* Sets a valid, unique "name", and "as" if the wire name differs. False: there is no such name. */
static bool param_set_name(struct openapi_reader *reader,
                           const json_t *params,
                           struct str wire,
                           const char *place,
                           json_t *param)
{
    struct str name = wire;

    if (wire.len == 0 || wire.len > 90 ||
        !openapi_count_cost(reader, 1 + 2 * json_array_size(params), 4 * wire.len))
        return false;
    if (!is_plain_param(name)) {
        char *plain = arena_cstr(reader->arena, name);
        for (size_t i = 0; i < name.len; i++)
            if (!ascii_has_only((struct str){plain + i, 1}, ASCII_ALNUM, "_-.[]$@:"))
                plain[i] = '_';
        name.ptr = plain;
    }
    if (params_have_name(params, name))
        name = arena_printf(reader->arena, "%.*s_%s", STR_ARG(name), place);
    if (params_have_name(params, name))
        return false;
    openapi_put_str(reader, param, "name", name);
    if (!str_eq(name, wire))
        openapi_put_str(reader, param, "as", wire);
    return true;
}

/* --- parameters --- */

/* OpenAPI 3.0.3, Parameter Object: header parameters with these names shall be ignored. */
static bool is_ignored_header(struct str name)
{
    static const char *const names[] = {"accept", "content-type", "authorization"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ieq(name, str_from(names[i])))
            return true;
    return false;
}

/* Keeps arrays only for query parameters that are repeated for each item. Other arrays become
 * texts, which callers write in the format of the API. */
static void param_flatten_array(struct openapi_reader *reader,
                                const json_t *parameter,
                                struct str place,
                                json_t *param)
{
    const json_t *explode = json_object_get(parameter, "explode");
    struct str style = jr_str(parameter, "style");
    bool repeated =
        str_is(place, "query") && !json_is_false(explode) && (!style.len || str_is(style, "form"));

    if (str_is(jr_str(param, "type"), "array") && !repeated)
        openapi_put_str(reader, param, "type", STR("string"));
}

static const char *parameter_read(struct openapi_reader *reader,
                                  const json_t *parameter,
                                  struct str at,
                                  json_t *params)
{
    static const char *const places[] = {"path", "query", "header"};
    struct str place = jr_str(parameter, "in");
    struct str wire = jr_str(parameter, "name");
    bool required = jr_bool(parameter, "required", false) || str_is(place, "path");
    const json_t *schema = json_object_get(parameter, "schema");
    json_t *param = jr_attach(reader->arena, openapi_object(reader));
    bool known = false;

    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        known = known || str_is(place, places[i]);
    if (str_is(place, "header") && is_ignored_header(wire))
        return NULL;
    if (!known) {
        reader->lost_parts[LOST_COOKIE] = true;
        return required ? "a required parameter is not in path, query or header" : NULL;
    }
    if (!param_set_name(reader, params, wire, arena_cstr(reader->arena, place), param)) {
        reader->lost_parts[LOST_NAME] = true;
        return required ? "a required parameter has a name that cannot be used" : NULL;
    }
    openapi_put_str(reader, param, "in", place);
    openapi_schema(reader, schema, at, false, param);
    param_flatten_array(reader, parameter, place, param);
    if (required)
        openapi_put(param, "required", json_true());
    struct str about = openapi_text(reader, parameter, "description");
    if (about.len)
        openapi_put_str(reader, param, "description", about);
    MUST(json_array_append(params, param) == 0);
    return NULL;
}

/* Returns the identity of a Parameter Object: its place and name. */
static struct str parameter_key(struct openapi_reader *reader, const json_t *parameter)
{
    struct str place = jr_str(parameter, "in");
    struct str name = jr_str(parameter, "name");

    if (!openapi_count_cost(reader, 1, 2 * (place.len + name.len + 2)))
        return STR_NONE;
    return arena_printf(reader->arena, "%.*s %.*s", STR_ARG(place), STR_ARG(name));
}

/* Returns the keys of an operation's own parameters, which override the parameters of its path. */
static struct map *own_parameters(struct openapi_reader *reader, const json_t *own, struct str at)
{
    struct map *keys = openapi_map(reader->arena);

    for (size_t i = 0; i < json_array_size(own) && !reader->is_over_limit; i++) {
        const json_t *parameter = openapi_follow(reader, json_array_get(own, i), at);
        struct str key = parameter_key(reader, parameter);
        reader->json_bytes += key.len;
        if (key.len)
            (void)map_put(keys, key, (void *)own);
    }
    return keys;
}

static bool parameter_is_overridden(struct openapi_reader *reader,
                                    const struct map *own,
                                    const json_t *parameter)
{
    struct str key = own != NULL ? parameter_key(reader, parameter) : STR_NONE;

    return key.len && map_get(own, key) != NULL;
}

static const char *parameters_read(struct openapi_reader *reader,
                                   const json_t *list,
                                   const struct map *own,
                                   struct str at,
                                   bool in_path,
                                   json_t *params)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!openapi_count_cost(reader, 1, LOCATION_BYTES))
            break;
        struct str where = arena_printf(reader->arena, "%.*s.parameters[%zu]", STR_ARG(at), i);
        const json_t *parameter = openapi_follow(reader, json_array_get(list, i), where);
        if (!json_is_object(parameter) || str_is(jr_str(parameter, "in"), "path") != in_path ||
            parameter_is_overridden(reader, own, parameter))
            continue;
        if (json_array_size(params) >= INTEGRATION_PARAMS_MAX)
            return "it has more parameters than an operation may have";
        const char *fault = parameter_read(reader, parameter, where, params);
        if (fault != NULL)
            return fault;
    }
    return NULL;
}

/* --- bodies --- */

static const json_t *media_of(struct openapi_reader *reader, const json_t *content, bool *ret_form)
{
    const json_t *form = json_object_get(content, "application/x-www-form-urlencoded");
    const char *name;
    json_t *media;

    *ret_form = false;
    json_object_foreach((json_t *)content, name, media)
    {
        struct str type = str_from(name);
        if (!openapi_count_cost(reader, 1, type.len))
            break;
        if (str_starts(type, STR("application/json")) || str_ends(type, STR("+json")))
            return media;
    }
    *ret_form = form != NULL;
    return form;
}

/* Returns the texts of a list as the keys of a map. */
static struct map *texts_of(struct openapi_reader *reader, const json_t *list)
{
    struct map *texts = openapi_map(reader->arena);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (!openapi_count_cost(reader, 1, json_string_length(item)))
            break;
        if (!json_is_string(item))
            continue;
        reader->json_bytes += json_string_length(item);
        (void)map_put(
            texts, (struct str){json_string_value(item), json_string_length(item)}, (void *)list);
    }
    return texts;
}

static const char *
properties_read(struct openapi_reader *reader, const json_t *schema, struct str at, json_t *params)
{
    json_t *properties = json_object_get(schema, "properties");
    struct map *required;
    const char *name;
    json_t *property;

    if (json_object_size(properties) == 0)
        return NULL;
    required = texts_of(reader, json_object_get(schema, "required"));
    json_object_foreach(properties, name, property)
    {
        if (!openapi_count_cost(reader, 1, 0))
            break;
        json_t *param = jr_attach(reader->arena, openapi_object(reader));
        const json_t *found = openapi_follow(reader, property, at);
        if (jr_bool(found, "readOnly", false))
            continue;
        if (json_array_size(params) >= INTEGRATION_PARAMS_MAX)
            return "it has more parameters than an operation may have";
        if (!param_set_name(reader, params, str_from(name), "body", param)) {
            if (map_get(required, str_from(name)) != NULL)
                return "a required member of its body has a name that cannot be used";
            reader->lost_parts[LOST_NAME] = true;
            continue;
        }
        openapi_put_str(reader, param, "in", STR("body"));
        openapi_schema(reader, property, at, true, param);
        if (map_get(required, str_from(name)) != NULL)
            openapi_put(param, "required", json_true());
        struct str about = openapi_text(reader, found, "description");
        if (about.len)
            openapi_put_str(reader, param, "description", about);
        MUST(json_array_append(params, param) == 0);
    }
    return NULL;
}

/* NOLINTBEGIN(misc-no-recursion): ALL_OF_DEPTH deep */
/* Returns whether a body's schema names its members, so that each can become a parameter. */
static bool
schema_has_members(struct openapi_reader *reader, const json_t *schema, struct str at, int depth)
{
    const json_t *parts = json_object_get(schema, "allOf");
    bool any = json_object_size(json_object_get(schema, "properties")) > 0;

    if (json_object_get(schema, "oneOf") != NULL || json_object_get(schema, "anyOf") != NULL ||
        depth > ALL_OF_DEPTH || !openapi_count_cost(reader, 1, 0))
        return false;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = openapi_follow(reader, json_array_get(parts, i), at);
        any = schema_has_members(reader, part, at, depth + 1) || any;
    }
    return any;
}

static const char *body_members_read(
    struct openapi_reader *reader, const json_t *schema, struct str at, json_t *params, int depth)
{
    const json_t *parts = json_object_get(schema, "allOf");
    const char *fault =
        openapi_count_cost(reader, 1, 0) ? properties_read(reader, schema, at, params) : NULL;

    for (size_t i = 0; fault == NULL && depth < ALL_OF_DEPTH && i < json_array_size(parts) &&
                       !reader->is_over_limit;
         i++) {
        const json_t *part = openapi_follow(reader, json_array_get(parts, i), at);
        fault = body_members_read(reader, part, at, params, depth + 1);
    }
    return fault;
}
/* NOLINTEND(misc-no-recursion) */

static const char *whole_body_read(struct openapi_reader *reader,
                                   const json_t *schema,
                                   struct str at,
                                   bool required,
                                   json_t *params,
                                   json_t *result)
{
    json_t *param = jr_attach(reader->arena, openapi_object(reader));

    if (json_array_size(params) >= INTEGRATION_PARAMS_MAX)
        return "it has more parameters than an operation may have";
    if (!param_set_name(reader, params, STR("body"), "json", param))
        return "another parameter has the name that its body needs";
    (void)json_object_del(param, "as");
    openapi_put_str(reader, param, "in", STR("body"));
    openapi_schema(reader, schema, at, true, param);
    if (required)
        openapi_put(param, "required", json_true());
    openapi_put_str(reader,
                    result,
                    "body",
                    arena_printf(reader->arena, "{{ %.*s }}", STR_ARG(jr_str(param, "name"))));
    MUST(json_array_append(params, param) == 0);
    return NULL;
}

static const char *body_read(struct openapi_reader *reader,
                             const json_t *operation,
                             struct str at,
                             json_t *params,
                             json_t *result)
{
    struct str where = arena_printf(reader->arena, "%.*s.requestBody", STR_ARG(at));
    const json_t *body = openapi_follow(reader, json_object_get(operation, "requestBody"), where);
    const json_t *content = json_object_get(body, "content");
    struct str method = jr_str(result, "method");
    bool form;

    if (json_object_size(content) == 0)
        return NULL;
    bool is_sent = !str_is(method, "GET") && !str_is(method, "HEAD");
    const json_t *media = is_sent ? media_of(reader, content, &form) : NULL;
    if (media == NULL) {
        reader->lost_parts[LOST_BODY] = true;
        return is_sent && jr_bool(body, "required", false) ? "its body is neither JSON nor a form"
                                                           : NULL;
    }
    const json_t *schema = openapi_follow(reader, json_object_get(media, "schema"), where);
    if (form)
        openapi_put_str(reader, result, "body_type", STR("form"));
    if (schema_has_members(reader, schema, where, 0))
        return body_members_read(reader, schema, where, params, 0);
    if (form)
        return "the schema of its form has no properties";
    return whole_body_read(reader, schema, where, jr_bool(body, "required", false), params, result);
}

const char *openapi_inputs(struct openapi_reader *reader,
                           const json_t *item,
                           const json_t *operation,
                           struct str at,
                           json_t *result)
{
    const json_t *own = json_object_get(operation, "parameters");
    const json_t *shared = json_object_get(item, "parameters");
    struct map *own_keys = json_array_size(shared) > 0 ? own_parameters(reader, own, at) : NULL;
    json_t *params = json_array();
    const char *fault = NULL;

    openapi_put(result, "params", params);
    /* Path parameters first: the path refers to them by name, so they must not be renamed. */
    for (int in_path = 1; fault == NULL && in_path >= 0; in_path--) {
        fault = parameters_read(reader, own, NULL, at, in_path, params);
        if (fault == NULL)
            fault = parameters_read(reader, shared, own_keys, at, in_path, params);
    }
    return fault != NULL ? fault : body_read(reader, operation, at, params, result);
}
