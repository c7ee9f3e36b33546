/*
 * Any JSON as an OpenAPI document, and as operations with values: an imported integration can be
 * stored, and a stored one gives requests that stay at their origin and below their path.
 */
#include <stdint.h>
#include <string.h>

#include "base/panic.h"
#include "integrations/openapi_import.h"
#include "integrations/outgoing.h"
#include "json/jr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE "https://base.example/v1"

/* Values for all parameters of an operation, of the declared types. */
static json_t *values_for(struct arena *arena, const struct integration_operation *operation)
{
    const struct integration_param *params = operation->params.items;
    json_t *values = jr_attach(arena, json_object());

    for (size_t i = 0; i < operation->params.count; i++) {
        struct str type = params[i].type.value;
        json_t *value = str_is(type, "integer") || str_is(type, "number") ? json_integer(7)
                        : str_is(type, "boolean")                         ? json_true()
                        : str_is(type, "array")                           ? json_pack("[s]", "../x")
                        : str_is(type, "object") ? json_pack("{s:s}", "a", "b")
                                                 : json_string("../x?y#z\\ %2e");
        if (json_is_array(params[i].values.value)) {
            json_decref(value);
            value = json_incref(json_array_get(params[i].values.value, 0));
        }
        MUST(json_object_setn_new(
                 values, params[i].name.value.ptr, params[i].name.value.len, value) == 0);
    }
    return values;
}

static void send(struct arena *arena, const struct integration_operation *operation)
{
    struct schema_errors errors = {0};
    struct fill_values values;
    struct outgoing_request out;

    if (!fill_values_read(arena, operation, values_for(arena, operation), &values, &errors))
        return;
    int rc = outgoing_build(arena, STR(BASE), &values, &out, &errors);
    MUST(rc == 0 || (rc == INTEGRATION_FAILED && errors.count > 0) || rc == INTEGRATION_TOO_LARGE);
    if (rc != 0)
        return;
    MUST(str_starts(out.request.url, STR(BASE "/")));
    MUST(str_is(integration_origin(arena, out.request.url), "https://base.example:443"));
    struct str path = out.request.url;
    struct str query = path;
    path = str_split(&query, '?');
    while (path.ptr)
        MUST(!integration_segment_is_dots(str_split(&path, '/')));
}

static void send_all(struct arena *arena, const struct integration_in *in)
{
    const struct integration_operation *operations = in->operations.items;

    for (size_t i = 0; i < in->operations.count; i++)
        send(arena, &operations[i]);
}

/* Choosing operations by name from the document's text and from its tree gives the same
 * operations. */
static void
check_text(struct arena *arena, const json_t *document, struct str text, const json_t *imported)
{
    const json_t *operations = json_object_get(imported, "operations");
    struct in_strs names = {.set = true, .count = json_array_size(operations)};
    json_t *skipped;
    json_t *bodies[2];

    names.items = ARENA_ARRAY(arena, names.items, names.count + 1);
    for (size_t i = 0; i < names.count; i++)
        names.items[i] = jr_str(json_array_get(operations, i), "name");
    for (size_t i = 0; i < 2; i++) {
        const struct openapi_options wish = {.document = i == 0 ? document : NULL,
                                             .text = i == 0 ? STR_NONE : text,
                                             .name = STR("fuzz"),
                                             .base_url = STR(BASE),
                                             .chosen_names = &names};
        struct schema_errors errors = {0};
        if (!openapi_import(arena, &wish, &bodies[i], &skipped, &errors))
            bodies[i] = NULL;
    }
    MUST(json_equal(bodies[0], bodies[1]) || (bodies[0] == NULL && bodies[1] == NULL));
}

static void check_import(struct arena *arena, const json_t *document, struct str text)
{
    const struct openapi_options wish = {
        .document = document, .name = STR("fuzz"), .base_url = STR(BASE)};
    struct schema_errors errors = {0};
    struct integration_in in;
    json_t *skipped;
    json_t *body;

    if (!openapi_import(arena, &wish, &body, &skipped, &errors)) {
        MUST(errors.count > 0);
        return;
    }
    MUST(schema_decode(arena, &integration_create_schema, body, &in, &errors));
    MUST(integration_check(arena, &in, &errors));
    send_all(arena, &in);
    if (in.operations.count > 0)
        check_text(arena, document, text, body);
}

static void check_written(struct arena *arena, const json_t *body)
{
    struct schema_errors errors = {0};
    struct integration_in in;

    if (schema_decode(arena, &integration_create_schema, body, &in, &errors) &&
        integration_check(arena, &in, &errors))
        send_all(arena, &in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str text = {(const char *)data, size};
    struct jr_error error;
    json_t *value;

    if (size > 0 && jr_parse(arena, text, &value, &error) == 0 && json_is_object(value)) {
        check_import(arena, value, text);
        check_written(arena, value);
    }
    arena_free(arena);
    return 0;
}
