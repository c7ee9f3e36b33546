/* Reads values of parameters, and fills templates. */
#include "integrations/fill.h"

#include "base/panic.h"
#include "base/secret_mask.h"
#include "json/jr.h"

/* --- values --- */

static struct str text_view(const json_t *value)
{
    return (struct str){json_string_value(value), json_string_length(value)};
}

static bool is_scalar(const json_t *value)
{
    return json_is_string(value) || json_is_number(value) || json_is_boolean(value);
}

/* Returns NULL, or a message that says which type was expected. */
static const char *type_fault(const struct integration_param *param, const json_t *value)
{
    struct str type = param->type.value;
    bool body = integration_place_of(param) == IN_BODY;

    if (str_is(type, "integer"))
        return json_is_integer(value) ? NULL : "expected an integer";
    if (str_is(type, "number"))
        return json_is_number(value) ? NULL : "expected a number";
    if (str_is(type, "boolean"))
        return json_is_boolean(value) ? NULL : "expected true or false";
    if (str_is(type, "any"))
        return NULL;
    if (str_is(type, "object"))
        return json_is_object(value) ? NULL : "expected an object";
    if (!str_is(type, "array"))
        return json_is_string(value) ? NULL : "expected a text";
    if (!json_is_array(value))
        return "expected an array";
    for (size_t i = 0; !body && i < json_array_size(value); i++)
        if (!is_scalar(json_array_get(value, i)))
            return "expected an array of texts, numbers and booleans";
    return NULL;
}

static bool enum_has(const struct integration_param *param, const json_t *value)
{
    const json_t *list = param->values.value;

    if (!json_is_array(list) || json_is_array(value) || json_is_object(value))
        return true;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), value))
            return true;
    return false;
}

static void fill_value_check(struct arena *arena,
                             const struct integration_param *param,
                             const json_t *value,
                             struct schema_errors *errors)
{
    struct str field = arena_printf(arena, "params.%.*s", STR_ARG(param->name.value));
    const char *fault = type_fault(param, value);

    if (fault != NULL)
        schema_error_add(arena, errors, field, PROBLEM_TYPE_MISMATCH, "%s", fault);
    else if (!enum_has(param, value))
        schema_error_add(arena,
                         errors,
                         field,
                         PROBLEM_OUT_OF_RANGE,
                         "must be one of the values in the parameter's enum");
}

static void unknown_values_report(struct arena *arena,
                                  const struct integration_operation *operation,
                                  const json_t *params,
                                  struct schema_errors *errors)
{
    const char *name;
    size_t len;
    json_t *ignored;

    json_object_keylen_foreach((json_t *)params, name, len, ignored)
    {
        struct str key = {name, len};
        if (integration_param_find(operation, key) == NULL)
            schema_error_add(arena,
                             errors,
                             arena_printf(arena, "params.%.*s", STR_ARG(key)),
                             PROBLEM_UNKNOWN_FIELD,
                             "the operation has no such parameter");
    }
}

bool fill_values_read(struct arena *arena,
                      const struct integration_operation *operation,
                      const json_t *params,
                      struct fill_values *ret_values,
                      struct schema_errors *errors)
{
    const struct integration_param *list = operation->params.items;
    size_t count = operation->params.count;
    size_t before = errors->count;
    struct fill_values values = {.operation = operation, .bytes_left = FILL_BYTES_MAX};

    values.items = ARENA_ARRAY(arena, values.items, count + 1);
    values.bytes = ARENA_ARRAY(arena, values.bytes, count + 1);
    for (size_t i = 0; i < count; i++) {
        json_t *value =
            json_object_getn((json_t *)params, list[i].name.value.ptr, list[i].name.value.len);
        if (value == NULL || json_is_null(value))
            value = list[i].fallback.value;
        if (value != NULL && !json_is_null(value)) {
            fill_value_check(arena, &list[i], value, errors);
            values.items[i] = value;
            values.bytes[i] = fill_text_of(arena, value).len;
        } else if (list[i].required.value || integration_place_of(&list[i]) == IN_PATH) {
            schema_error_add(arena,
                             errors,
                             arena_printf(arena, "params.%.*s", STR_ARG(list[i].name.value)),
                             PROBLEM_REQUIRED,
                             "is required");
        }
    }
    unknown_values_report(arena, operation, params, errors);
    *ret_values = values;
    return errors->count == before;
}

static size_t fill_index_of(const struct fill_values *values, struct str name)
{
    const struct integration_param *list = values->operation->params.items;
    size_t i = 0;

    while (i < values->operation->params.count && !str_eq(list[i].name.value, name))
        i++;
    return i;
}

json_t *fill_value_of(const struct fill_values *values, struct str name)
{
    size_t i = fill_index_of(values, name);

    return i < values->operation->params.count ? values->items[i] : NULL;
}

struct str fill_text_of(struct arena *arena, const json_t *value)
{
    return json_is_string(value) ? text_view(value) : jr_print(arena, value);
}

/* --- templates --- */

/* Cuts a literal and the expression after it off *rest. Without a further expression ret_name->ptr
 * and rest->ptr are NULL. Returns false when a "}}" is missing. */
static bool next_expression(struct str *rest, struct str *ret_literal, struct str *ret_name)
{
    const char *open = memmem(rest->ptr, rest->len, "{{", 2);

    *ret_name = STR_NONE;
    *ret_literal = *rest;
    if (open == NULL) {
        *rest = STR_NONE;
        return true;
    }
    ret_literal->len = (size_t)(open - rest->ptr);
    struct str tail = {open + 2, rest->len - ret_literal->len - 2};
    const char *close = memmem(tail.ptr, tail.len, "}}", 2);
    if (close == NULL)
        return false;
    size_t inside = (size_t)(close - tail.ptr);
    *ret_name = str_trim((struct str){tail.ptr, inside});
    *rest = (struct str){close + 2, tail.len - inside - 2};
    return true;
}

static const char *text_fault(struct arena *arena,
                              const struct integration_operation *operation,
                              struct str text,
                              size_t *left)
{
    struct str rest = text;
    struct str literal;
    struct str name;

    while (rest.ptr != NULL) {
        if (!next_expression(&rest, &literal, &name))
            return "has {{ without }}";
        if (name.ptr != NULL && *left == 0)
            return arena_printf(arena,
                                "an operation may have at most %d {{ }} in headers, query and "
                                "body together",
                                INTEGRATION_FILLS_MAX)
                .ptr;
        *left -= name.ptr != NULL;
        if (name.ptr != NULL && integration_param_find(operation, name) == NULL)
            return arena_printf(arena, "names an unknown parameter: %.*s", STR_ARG(name)).ptr;
    }
    return NULL;
}

static bool names_param(struct str template, struct str param)
{
    struct str literal;
    struct str name;

    while (template.ptr != NULL && next_expression(&template, &literal, &name))
        if (name.ptr != NULL && str_eq(name, param))
            return true;
    return false;
}

/* NOLINTNEXTLINE(misc-no-recursion): JSON is nested at most 64 deep */
static bool param_is_sent_hidden(const json_t *template, bool is_hidden, struct str param)
{
    const char *name;
    size_t i;
    json_t *item;

    if (json_is_string(template))
        return is_hidden &&
               names_param((struct str){json_string_value(template), json_string_length(template)},
                           param);
    json_array_foreach(
        template, i, item) if (param_is_sent_hidden(item, is_hidden, param)) return true;
    json_object_foreach(
        (json_t *)template,
        name,
        item) if (param_is_sent_hidden(item,
                                       is_hidden || secret_is_credential_name(str_from(name)),
                                       param)) return true;
    return false;
}

bool fill_is_hidden(const struct integration_operation *operation,
                    const struct integration_param *param)
{
    struct str name = param->name.value;

    return param->secret.value || secret_is_credential_name(name) ||
           secret_is_credential_name(integration_wire_name(param)) ||
           param_is_sent_hidden(operation->query.value, false, name) ||
           param_is_sent_hidden(operation->headers.value, false, name) ||
           param_is_sent_hidden(operation->body.value, false, name);
}

bool fill_names_secret(const struct integration_operation *operation, struct str template)
{
    struct str rest = template;
    struct str literal;
    struct str name;

    while (rest.ptr != NULL && next_expression(&rest, &literal, &name)) {
        const struct integration_param *param =
            name.ptr != NULL ? integration_param_find(operation, name) : NULL;
        if (param != NULL && fill_is_hidden(operation, param))
            return true;
    }
    return false;
}

/* NOLINTBEGIN(misc-no-recursion): JSON is nested at most 64 deep */
const char *fill_fault(struct arena *arena,
                       const struct integration_operation *operation,
                       const json_t *template,
                       size_t *left)
{
    const char *fault = NULL;
    const char *name;
    size_t i;
    json_t *item;

    if (json_is_string(template))
        return text_fault(arena, operation, text_view(template), left);
    if (json_is_array(template))
        json_array_foreach((json_t *)template, i, item)
        {
            fault = fill_fault(arena, operation, item, left);
            if (fault != NULL)
                return fault;
        }
    if (json_is_object(template))
        json_object_foreach((json_t *)template, name, item)
        {
            fault = fill_fault(arena, operation, item, left);
            if (fault != NULL)
                return fault;
        }
    return NULL;
}
/* NOLINTEND(misc-no-recursion) */

/* Counts each insertion against the limit: a template may use a long value a thousand times. */
static int fill_value_take(struct fill_values *values, struct str name, json_t **ret_value)
{
    size_t i = fill_index_of(values, name);

    *ret_value = NULL;
    if (i >= values->operation->params.count || values->items[i] == NULL)
        return 0;
    if (values->bytes[i] > values->bytes_left)
        return INTEGRATION_TOO_LARGE;
    values->bytes_left -= values->bytes[i];
    *ret_value = values->items[i];
    return 0;
}

int fill_text(struct arena *arena,
              struct fill_values *values,
              struct str template,
              struct str *ret_text)
{
    struct str rest = template;
    struct str literal;
    struct str name;
    struct strbuf out;
    json_t *value;

    strbuf_init(&out, arena, 2 * FILL_BYTES_MAX);
    while (rest.ptr != NULL) {
        MUST(next_expression(&rest, &literal, &name));
        strbuf_str(&out, literal);
        if (name.ptr == NULL)
            continue;
        TRY(fill_value_take(values, name, &value));
        if (value != NULL)
            strbuf_str(&out, fill_text_of(arena, value));
    }
    *ret_text = (struct str){strbuf_cstring(&out), out.len};
    return out.overflow ? INTEGRATION_TOO_LARGE : 0;
}

/* Returns the name if the text is one expression and nothing else, otherwise STR_NONE. */
static struct str single_expression(struct str text)
{
    struct str rest = text;
    struct str literal;
    struct str name;

    if (!next_expression(&rest, &literal, &name) || literal.len > 0 || name.ptr == NULL ||
        rest.len > 0)
        return STR_NONE;
    return name;
}

static int fill_string(struct arena *arena,
                       struct fill_values *values,
                       const json_t *template,
                       json_t **ret_value)
{
    struct str name = single_expression(text_view(template));
    struct str text;

    if (name.ptr != NULL) {
        TRY(fill_value_take(values, name, ret_value));
        json_incref(*ret_value);
        return 0;
    }
    TRY(fill_text(arena, values, text_view(template), &text));
    *ret_value = json_stringn_nocheck(text.ptr, text.len);
    return 0;
}

static int
fill_value(struct arena *arena,
           struct fill_values *values,
           const json_t *template,
           json_t **ret_value); /* NOLINT(misc-no-recursion): JSON is nested at most 64 deep */

/* NOLINTBEGIN(misc-no-recursion): as above */
static int fill_array(struct arena *arena,
                      struct fill_values *values,
                      const json_t *template,
                      json_t **ret_value)
{
    size_t i;
    json_t *item;
    json_t *filled;

    *ret_value = json_array();
    json_array_foreach((json_t *)template, i, item)
    {
        TRY(fill_value(arena, values, item, &filled));
        if (filled != NULL)
            MUST(json_array_append_new(*ret_value, filled) == 0);
    }
    return 0;
}

static int fill_object(struct arena *arena,
                       struct fill_values *values,
                       const json_t *template,
                       json_t **ret_value)
{
    const char *name;
    json_t *item;
    json_t *filled;

    *ret_value = json_object();
    json_object_foreach((json_t *)template, name, item)
    {
        TRY(fill_value(arena, values, item, &filled));
        if (filled != NULL)
            MUST(json_object_set_new_nocheck(*ret_value, name, filled) == 0);
    }
    return 0;
}

/* *ret_value is a new reference; NULL for an expression without a value, and after a failure. */
static int fill_value(struct arena *arena,
                      struct fill_values *values,
                      const json_t *template,
                      json_t **ret_value)
{
    int rc = 0;

    *ret_value = NULL;
    if (json_is_string(template))
        return fill_string(arena, values, template, ret_value);
    if (json_is_array(template))
        rc = fill_array(arena, values, template, ret_value);
    else if (json_is_object(template))
        rc = fill_object(arena, values, template, ret_value);
    else
        *ret_value = json_incref((json_t *)template);
    if (rc != 0) {
        json_decref(*ret_value);
        *ret_value = NULL;
    }
    return rc;
}
/* NOLINTEND(misc-no-recursion) */

int fill_json(struct arena *arena,
              struct fill_values *values,
              const json_t *template,
              json_t **ret_value)
{
    int rc = fill_value(arena, values, template, ret_value);

    if (*ret_value != NULL)
        (void)jr_attach(arena, *ret_value);
    return rc;
}
