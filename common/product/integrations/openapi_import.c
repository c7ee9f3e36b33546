/* OpenAPI documents: the operations, and the whole. */
#include <stdarg.h>

#include "base/ascii.h"
#include "base/codec.h"
#include "base/num.h"
#include "base/panic.h"
#include "integrations/openapi_import_private.h"
#include "json/jr.h"

#define HOPS_MAX   32     /* of one reference */
#define STEPS_MAX  100000 /* of all */
#define TEXT_BYTES 900
#define NAME_BYTES 64
#define NAME_TRIES 200

static const char *const openapi_methods[] = {
    "get", "put", "post", "delete", "patch", "head", "options", NULL};

/* --- what the files share --- */

void openapi_fault(struct openapi_reader *reader, struct str at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct str message = arena_vprintf(reader->arena, format, args);
    va_end(args);
    schema_error_add(
        reader->arena, reader->errors, at, PROBLEM_VALIDATION_FAILED, "%.*s", STR_ARG(message));
}

void openapi_put(json_t *object, const char *member, json_t *value)
{
    MUST(json_object_set_new(object, member, value) == 0);
}

void openapi_put_str(json_t *object, const char *member, struct str value)
{
    openapi_put(object, member, json_stringn(value.len ? value.ptr : "", value.len));
}

void openapi_skip(struct openapi_reader *reader, struct str what, const char *reason)
{
    json_t *entry = json_object();

    openapi_put_str(entry, "operation", what);
    openapi_put(entry, "reason", json_string(reason));
    MUST(json_array_append_new(reader->skipped, entry) == 0);
}

struct str openapi_text(struct openapi_reader *reader, const json_t *object, const char *member)
{
    struct str text = jr_str(object, member);

    if (text.len > TEXT_BYTES) {
        text.len = TEXT_BYTES;
        while (text.len > 0 && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80)
            text.len--;
    }
    return text.len ? arena_dup(reader->arena, text) : STR_NONE;
}

/* --- references --- */

/* One part of a JSON pointer (RFC 6901) in a fragment: percent-encoded, ~1 is /, ~0 is ~. */
static bool pointer_part(struct arena *arena, struct str part, struct str *ret_name)
{
    struct strbuf name;
    struct str plain;

    if (!codec_percent_decode(arena, part, false, &plain))
        return false;
    strbuf_init(&name, arena, plain.len + 1);
    for (size_t i = 0; i < plain.len; i++) {
        if (plain.ptr[i] != '~') {
            strbuf_char(&name, plain.ptr[i]);
            continue;
        }
        if (i + 1 == plain.len || (plain.ptr[i + 1] != '0' && plain.ptr[i + 1] != '1'))
            return false;
        strbuf_char(&name, plain.ptr[++i] == '0' ? '~' : '/');
    }
    *ret_name = strbuf_view(&name);
    return true;
}

static const json_t *pointer_find(struct openapi_reader *reader, struct str pointer)
{
    const json_t *at = reader->root;
    struct str rest = pointer;
    struct str name;
    int64_t index;

    (void)str_split(&rest, '/');
    while (rest.ptr != NULL && at != NULL) {
        if (!pointer_part(reader->arena, str_split(&rest, '/'), &name))
            return NULL;
        if (json_is_array(at))
            at = num_parse_i64(name, &index) && index >= 0 ? json_array_get(at, (size_t)index)
                                                           : NULL;
        else
            at = json_object_getn(at, name.ptr ? name.ptr : "", name.len);
    }
    return at;
}

const json_t *openapi_follow(struct openapi_reader *reader, const json_t *value, struct str at)
{
    for (int hops = 0; hops < HOPS_MAX; hops++) {
        struct str pointer = jr_str(value, "$ref");
        if (pointer.ptr == NULL)
            return value;
        if (!str_starts(pointer, STR("#/"))) {
            openapi_fault(reader, at, "refers to another document, which is not fetched");
            return NULL;
        }
        if (reader->steps++ > STEPS_MAX) {
            openapi_fault(reader, at, "there are more than %d references", STEPS_MAX);
            return NULL;
        }
        value = pointer_find(reader, pointer);
        if (value == NULL) {
            openapi_fault(reader,
                          at,
                          "refers to what is not there: %.*s",
                          (int)(pointer.len < 200 ? pointer.len : 200),
                          pointer.ptr);
            return NULL;
        }
    }
    openapi_fault(reader, at, "refers to itself in a circle");
    return NULL;
}

/* --- names --- */

static bool has_name(const json_t *operations, struct str name)
{
    for (size_t i = 0; i < json_array_size(operations); i++)
        if (str_eq(jr_str(json_array_get(operations, i), "name"), name))
            return true;
    return false;
}

/* Characters that names do not have become _, several together one. */
static struct str plain_name(struct arena *arena, struct str text)
{
    struct strbuf name;

    strbuf_init(&name, arena, text.len + 8);
    if (text.len == 0 || !ascii_is(text.ptr[0], ASCII_LETTER))
        strbuf_cstr(&name, "op_");
    for (size_t i = 0; i < text.len && name.len < NAME_BYTES - 4; i++) {
        bool fits = ascii_is(text.ptr[i], ASCII_ALNUM) || strchr("_-.", text.ptr[i]) != NULL;
        if (fits)
            strbuf_char(&name, text.ptr[i]);
        else if (name.ptr[name.len - 1] != '_')
            strbuf_char(&name, '_');
    }
    while (name.len > 1 && name.ptr[name.len - 1] == '_')
        name.len--;
    return strbuf_view(&name);
}

static struct str operation_name(struct openapi_reader *reader,
                                 const json_t *operations,
                                 const json_t *operation,
                                 const char *method,
                                 struct str path)
{
    struct str id = jr_str(operation, "operationId");
    struct str name = plain_name(
        reader->arena, id.len ? id : arena_printf(reader->arena, "%s%.*s", method, STR_ARG(path)));

    for (int i = 2; i < NAME_TRIES; i++) {
        struct str other =
            i == 2 ? name : arena_printf(reader->arena, "%.*s_%d", STR_ARG(name), i - 1);
        if (!has_name(operations, other))
            return other;
    }
    return name;
}

/* --- operations --- */

static bool is_wanted(const struct openapi_wish *wish, struct str name)
{
    for (size_t i = 0; wish->only != NULL && i < wish->only->count; i++)
        if (str_eq(wish->only->items[i], name))
            return true;
    return wish->only == NULL || !wish->only->set || wish->only->null;
}

/* What it says by itself, checked as part of an integration. NULL, or what is wrong. */
static const char *
result_fault(struct openapi_reader *reader, const json_t *auth, const json_t *operation)
{
    struct schema_errors *errors = ARENA_NEW(reader->arena, errors);
    json_t *whole = jr_adopt(reader->arena, json_object());
    json_t *list = json_array();
    struct integration_in in;

    openapi_put_str(whole, "name", STR("x"));
    openapi_put_str(whole, "base_url", STR("http://example.org"));
    openapi_put(whole, "auth", json_incref((json_t *)auth));
    MUST(json_array_append(list, (json_t *)operation) == 0);
    openapi_put(whole, "operations", list);
    if (schema_decode(reader->arena, &integration_create_schema, whole, &in, errors) &&
        integration_check(reader->arena, &in, errors))
        return NULL;
    return arena_printf(reader->arena,
                        "%.*s: %.*s",
                        STR_ARG(errors->items[0].field),
                        STR_ARG(errors->items[0].message))
        .ptr;
}

struct openapi_place {
    const struct openapi_wish *wish;
    const json_t *auth;
    json_t *operations;
    struct str path, at;
    const json_t *item;
};

static void
read_operation(struct openapi_reader *reader, const struct openapi_place *place, const char *method)
{
    const json_t *operation = json_object_get(place->item, method);
    json_t *result = jr_adopt(reader->arena, json_object());
    struct str at = arena_printf(reader->arena, "%.*s.%s", STR_ARG(place->at), method);
    const char *fault = NULL;

    if (!json_is_object(operation)) {
        if (operation != NULL)
            openapi_fault(reader, at, "expected an object");
        return;
    }
    struct str name = operation_name(reader, place->operations, operation, method, place->path);
    if (!is_wanted(place->wish, name) || reader->wanted++ >= INTEGRATION_OPERATIONS_MAX)
        return;
    struct str about = openapi_text(reader, operation, "summary");
    if (!about.len)
        about = openapi_text(reader, operation, "description");
    openapi_put_str(result, "name", name);
    if (about.len)
        openapi_put_str(result, "description", about);
    openapi_put_str(result, "method", arena_upper(reader->arena, str_from(method)));
    openapi_put_str(result, "path", place->path);
    if (json_array_size(json_object_get(operation, "servers")) > 0 ||
        json_array_size(json_object_get(place->item, "servers")) > 0)
        fault = "it has a server of its own";
    if (fault == NULL)
        fault = openapi_inputs(reader, place->item, operation, at, result);
    if (fault == NULL)
        fault = result_fault(reader, place->auth, result);
    if (fault != NULL)
        openapi_skip(reader, name, fault);
    else
        MUST(json_array_append(place->operations, result) == 0);
}

static void read_paths(struct openapi_reader *reader, struct openapi_place *place)
{
    const json_t *paths = json_object_get(reader->root, "paths");
    const char *name;
    size_t len;
    json_t *item;

    if (!json_is_object(paths) || json_object_size(paths) == 0) {
        openapi_fault(reader, STR("document.paths"), "the document has none");
        return;
    }
    json_object_keylen_foreach((json_t *)paths, name, len, item)
    {
        place->path = (struct str){name, len};
        place->at = arena_printf(reader->arena, "document.paths.%.*s", STR_ARG(place->path));
        place->item = openapi_follow(reader, item, place->at);
        if (!json_is_object(place->item))
            continue;
        if (json_object_get(place->item, "trace") != NULL)
            openapi_skip(reader, place->path, "TRACE is not sent");
        for (size_t i = 0; openapi_methods[i] != NULL; i++)
            read_operation(reader, place, openapi_methods[i]);
    }
}

/* --- the whole --- */

/* The first server's address with the defaults of its variables. */
static struct str server_url(struct openapi_reader *reader)
{
    const json_t *server = json_array_get(json_object_get(reader->root, "servers"), 0);
    const json_t *variables = json_object_get(server, "variables");
    struct str rest = jr_str(server, "url");
    struct strbuf url;

    strbuf_init(&url, reader->arena, 2048);
    while (rest.len > 0) {
        const char *open = memchr(rest.ptr, '{', rest.len);
        size_t plain = open != NULL ? (size_t)(open - rest.ptr) : rest.len;
        const char *close = open != NULL ? memchr(open, '}', rest.len - plain) : NULL;
        strbuf_str(&url, (struct str){rest.ptr, plain});
        if (close == NULL)
            break;
        struct str name = {open + 1, (size_t)(close - open) - 1};
        const json_t *variable = json_object_getn(variables, name.ptr, name.len);
        strbuf_str(&url, jr_str(variable, "default"));
        rest = (struct str){close + 1, rest.len - (size_t)(close + 1 - rest.ptr)};
    }
    while (url.len > 0 && url.ptr[url.len - 1] == '/')
        url.len--;
    return url.overflow ? STR_NONE : strbuf_view(&url);
}

static void
read_base_url(struct openapi_reader *reader, const struct openapi_wish *wish, json_t *body)
{
    struct str url = wish->base_url.len ? wish->base_url : server_url(reader);

    if (!url.len || integration_url_fault(url, false) != NULL)
        schema_error_add(reader->arena,
                         reader->errors,
                         STR("base_url"),
                         wish->base_url.len ? PROBLEM_PATTERN : PROBLEM_REQUIRED,
                         "must be an absolute http or https address without a query%s",
                         wish->base_url.len ? "" : ": the document's first server has none");
    openapi_put_str(body, "base_url", url);
}

static void read_wanted(struct openapi_reader *reader,
                        const struct openapi_wish *wish,
                        const json_t *operations)
{
    size_t count = reader->wanted;

    if (count > INTEGRATION_OPERATIONS_MAX)
        openapi_fault(reader,
                      STR("document.paths"),
                      "has %zu operations: name at most %d of them in operations",
                      count,
                      INTEGRATION_OPERATIONS_MAX);
    for (size_t i = 0; wish->only != NULL && i < wish->only->count; i++) {
        bool found = has_name(operations, wish->only->items[i]);
        for (size_t k = 0; !found && k < json_array_size(reader->skipped); k++)
            found = str_eq(jr_str(json_array_get(reader->skipped, k), "operation"),
                           wish->only->items[i]);
        if (!found)
            schema_error_add(reader->arena,
                             reader->errors,
                             arena_printf(reader->arena, "operations[%zu]", i),
                             PROBLEM_NOT_FOUND,
                             "the document has no such operation");
    }
}

bool openapi_import(struct arena *arena,
                    const struct openapi_wish *wish,
                    json_t **ret_body,
                    json_t **ret_skipped,
                    struct schema_errors *errors)
{
    struct openapi_reader reader = {
        .arena = arena,
        .root = wish->document,
        .errors = errors,
        .skipped = jr_adopt(arena, json_array()),
    };
    json_t *body = jr_adopt(arena, json_object());
    struct str version = jr_str(wish->document, "openapi");
    size_t before = errors->count;

    if (!str_starts(version, STR("3."))) {
        openapi_fault(&reader, STR("document.openapi"), "must be 3.0 or 3.1");
        return false;
    }
    struct str title = openapi_text(&reader, json_object_get(wish->document, "info"), "title");
    openapi_put_str(body, "name", wish->name.len ? wish->name : plain_name(arena, title));
    if (title.len)
        openapi_put_str(body, "description", title);
    read_base_url(&reader, wish, body);
    json_t *auth = wish->auth != NULL ? json_incref((json_t *)wish->auth) : openapi_auth(&reader);
    openapi_put(body, "auth", auth);
    struct openapi_place place = {.wish = wish, .auth = auth, .operations = json_array()};
    openapi_put(body, "operations", place.operations);
    read_paths(&reader, &place);
    read_wanted(&reader, wish, place.operations);
    *ret_body = body;
    *ret_skipped = reader.skipped;
    return errors->count == before;
}
