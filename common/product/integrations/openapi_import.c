/* OpenAPI documents: the operations, and the integration as a whole. */
#include <stdarg.h>
#include <string.h>

#include "base/ascii.h"
#include "base/codec.h"
#include "base/map.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "fetch/fetch.h"
#include "integrations/openapi_import_private.h"
#include "json/jr.h"

#define TEXT_BYTES      900
#define NAME_BYTES      64
#define NAME_READ_BYTES 512 /* of an operationId or a path that are used to make a name */
#define PATH_BYTES      200 /* of a path, in findings and in the list of skipped operations */
#define SKIPPED_MAX     1000
#define STEP_BYTES      64  /* that are compared or copied in one step */
#define OBJECT_BYTES    512 /* of an object with a few members, without their texts */

const char *const openapi_methods[] = {
    "get", "put", "post", "delete", "patch", "head", "options", NULL};

/* --- shared functions --- */

void openapi_fault(struct openapi_reader *reader, struct str at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct str message = arena_vprintf(reader->arena, format, args);
    va_end(args);
    schema_error_add(
        reader->arena, reader->errors, at, PROBLEM_VALIDATION_FAILED, "%.*s", STR_ARG(message));
}

/* Returns the bytes that the import has allocated: in the arena, and for JSON values. */
static size_t bytes_made(const struct openapi_reader *reader)
{
    return arena_used_bytes(reader->arena) - reader->arena_before + reader->json_bytes;
}

static bool is_within(size_t limit, size_t used, size_t more)
{
    return used <= limit && more <= limit - used;
}

bool openapi_count_cost(struct openapi_reader *reader, size_t steps, size_t bytes)
{
    if (reader->is_over_limit)
        return false;
    reader->is_over_limit = true;
    if (!is_within(OPENAPI_STEPS_MAX, reader->steps, steps + bytes / STEP_BYTES)) {
        openapi_fault(reader,
                      STR("document"),
                      "takes more than %d steps to read: list fewer names in \"operations\", or "
                      "leave out paths, parameters and references that the listed operations do "
                      "not need",
                      OPENAPI_STEPS_MAX);
        return false;
    }
    if (!is_within(OPENAPI_BYTES_MAX, bytes_made(reader), bytes)) {
        openapi_fault(reader,
                      STR("document"),
                      "takes more than %d bytes of memory to read: list fewer names in "
                      "\"operations\", or leave out texts and values that the listed operations "
                      "do not need",
                      OPENAPI_BYTES_MAX);
        return false;
    }
    reader->is_over_limit = false;
    reader->steps += steps + bytes / STEP_BYTES;
    return true;
}

void openapi_put(json_t *object, const char *member, json_t *value)
{
    MUST(json_object_set_new(object, member, value) == 0);
}

json_t *openapi_object(struct openapi_reader *reader)
{
    reader->json_bytes += OBJECT_BYTES;
    return json_object();
}

void openapi_put_str(struct openapi_reader *reader,
                     json_t *object,
                     const char *member,
                     struct str value)
{
    struct str stored = openapi_count_cost(reader, 1, value.len) ? value : STR_NONE;

    reader->json_bytes += stored.len;
    openapi_put(object, member, json_stringn(stored.len ? stored.ptr : "", stored.len));
}

void openapi_skip(struct openapi_reader *reader, struct str what, const char *reason)
{
    if (json_array_size(reader->skipped) >= SKIPPED_MAX && !reader->is_over_limit) {
        reader->is_over_limit = true;
        openapi_fault(reader,
                      STR("document.paths"),
                      "more than %d operations would be left out: list those that you need in "
                      "\"operations\"",
                      SKIPPED_MAX);
    }
    if (!openapi_count_cost(reader, 1, OBJECT_BYTES))
        return;
    json_t *entry = openapi_object(reader);

    openapi_put_str(reader, entry, "operation", utf8_cut(what, PATH_BYTES));
    openapi_put(entry, "reason", json_string(reason));
    MUST(json_array_append_new(reader->skipped, entry) == 0);
}

struct str openapi_text(struct openapi_reader *reader, const json_t *object, const char *member)
{
    struct str text = utf8_cut(jr_str(object, member), TEXT_BYTES);

    return text.len && openapi_count_cost(reader, 1, text.len) ? arena_dup(reader->arena, text)
                                                               : STR_NONE;
}

static void free_map(void *map)
{
    map_free(map);
}

struct map *openapi_map(struct arena *arena)
{
    struct map *map = map_new();

    arena_defer(arena, free_map, map);
    return map;
}

/* --- names --- */

/* Makes a valid name: each run of characters that names must not have becomes one _. */
static struct str plain_name(struct arena *arena, struct str text)
{
    struct strbuf name;

    strbuf_init(&name, arena, text.len + 8);
    if (text.len == 0 || !ascii_is(text.ptr[0], ASCII_LETTER))
        strbuf_cstr(&name, "op_");
    for (size_t i = 0; i < text.len && name.len < NAME_BYTES - 4; i++) {
        bool fits = ascii_is(text.ptr[i], ASCII_ALNUM) || ascii_is_in(text.ptr[i], "_-.");
        if (fits)
            strbuf_char(&name, text.ptr[i]);
        else if (name.ptr[name.len - 1] != '_')
            strbuf_char(&name, '_');
    }
    while (name.len > 1 && name.ptr[name.len - 1] == '_')
        name.len--;
    return strbuf_view(&name);
}

/* The value of a used name in the map of names: the number to try next for another operation of
 * that name. Names are never freed, so a used number need not be tried again. */
struct name_use {
    unsigned next;
};

static void name_reserve(struct openapi_reader *reader, struct str name)
{
    struct name_use *use = ARENA_NEW(reader->arena, use);

    use->next = 2;
    (void)map_put(reader->names, name, use);
}

/* Returns the name, with a number appended when another operation has it. */
static struct str name_make_unique(struct openapi_reader *reader, struct str name)
{
    struct name_use *use = map_get(reader->names, name);
    struct str numbered = name;

    while (use != NULL && openapi_count_cost(reader, 1, NAME_BYTES)) {
        numbered = arena_printf(reader->arena, "%.*s_%u", STR_ARG(name), use->next);
        if (map_get(reader->names, numbered) == NULL)
            break;
        use->next++;
    }
    return numbered;
}

struct str openapi_operation_name(struct openapi_reader *reader,
                                  struct str id,
                                  const char *method,
                                  struct str path)
{
    struct str text = id.len ? id : path;

    if (text.len > NAME_READ_BYTES)
        text.len = NAME_READ_BYTES;
    if (!openapi_count_cost(reader, 1, 2 * (text.len + NAME_BYTES)))
        return STR_NONE;
    if (!id.len)
        text = arena_printf(reader->arena, "%s%.*s", method, STR_ARG(text));
    return plain_name(reader->arena, text);
}

/* --- operations --- */

/* The path that is being read. */
struct openapi_path {
    const struct openapi_options *options;
    const json_t *auth;
    json_t *operations;
    struct str path, at;
    const json_t *item;
};

/* Returns whether the caller has chosen operations by name. */
static bool has_choice(const struct openapi_options *options)
{
    return options->chosen_names != NULL && options->chosen_names->set &&
           !options->chosen_names->null;
}

struct str openapi_stem(struct str name)
{
    size_t len = name.len;

    while (len > 0 && ascii_is(name.ptr[len - 1], ASCII_DIGIT))
        len--;
    if (len > 1 && len < name.len && name.ptr[len - 1] == '_')
        name.len = len - 1;
    return name;
}

/* An operation that the caller has chosen. */
struct choice {
    bool is_found;
};

static void choices_read(struct openapi_reader *reader, const struct openapi_options *options)
{
    struct choice *choices;

    if (!has_choice(options))
        return;
    choices = ARENA_ARRAY(reader->arena, choices, options->chosen_names->count + 1);
    for (size_t i = 0; i < options->chosen_names->count; i++) {
        struct str name = options->chosen_names->items[i];
        if (map_get(reader->choices, name) == NULL)
            (void)map_put(reader->choices, name, &choices[i]);
        (void)map_put(reader->stems, openapi_stem(name), choices);
    }
}

/* Returns whether an operation belongs in the result, with its name in *ret_name. If the caller has
 * chosen none, operations above the limit are only counted. */
static bool operation_choose(struct openapi_reader *reader,
                             const struct openapi_path *path,
                             const json_t *operation,
                             const char *method,
                             struct str *ret_name)
{
    if (!has_choice(path->options) && reader->wanted_count >= INTEGRATION_OPERATIONS_MAX) {
        reader->wanted_count++;
        return false;
    }
    *ret_name =
        openapi_operation_name(reader, jr_str(operation, "operationId"), method, path->path);
    if (reader->is_over_limit)
        return false;
    *ret_name = name_make_unique(reader, *ret_name);
    if (reader->is_over_limit)
        return false;
    if (has_choice(path->options)) {
        struct choice *choice = map_get(reader->choices, *ret_name);
        if (choice == NULL)
            return false;
        choice->is_found = true;
    }
    return reader->wanted_count++ < INTEGRATION_OPERATIONS_MAX;
}

/* Validates an operation as the only one of an integration. Returns NULL, or what is wrong. */
static const char *
result_fault(struct openapi_reader *reader, const json_t *auth, const json_t *operation)
{
    struct schema_errors *errors = ARENA_NEW(reader->arena, errors);
    json_t *whole = jr_attach(reader->arena, json_object());
    struct integration_in in;
    size_t params = json_array_size(json_object_get(operation, "params"));

    /* The check searches all parameters for each parameter; sixteen comparisons count as a step. */
    if (!openapi_count_cost(reader, 1 + params * params / 16, (1 + params) * OBJECT_BYTES))
        return NULL;
    openapi_put_str(reader, whole, "name", STR("x"));
    openapi_put_str(reader, whole, "base_url", STR("http://example.org"));
    openapi_put(whole, "auth", json_incref((json_t *)auth));
    json_t *list = json_array();
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

/* Lists the optional parts that are left out of an operation of the result. */
static void losses_report(struct openapi_reader *reader, struct str name)
{
    static const char *const reasons[LOSSES] = {
        [LOST_COOKIE] = "it is called without its optional cookies",
        [LOST_NAME] = "it is called without an optional parameter whose name cannot be used",
        [LOST_BODY] = ("it is called without its body, which is optional and neither JSON nor a "
                       "form, or belongs to a GET or HEAD"),
    };

    for (size_t i = 0; i < LOSSES; i++)
        if (reader->lost_parts[i])
            openapi_skip(reader, name, reasons[i]);
}

static void
operation_read(struct openapi_reader *reader, const struct openapi_path *path, const char *method)
{
    const json_t *operation = json_object_get(path->item, method);
    const char *fault = NULL;
    struct str name;

    if (operation == NULL || !openapi_count_cost(reader, 1, 0))
        return;
    if (json_is_object(operation) && !operation_choose(reader, path, operation, method, &name))
        return;
    struct str at = arena_printf(reader->arena, "%.*s.%s", STR_ARG(path->at), method);
    if (!json_is_object(operation)) {
        openapi_fault(reader, at, "expected an object");
        return;
    }
    json_t *result = jr_attach(reader->arena, openapi_object(reader));
    memset(reader->lost_parts, 0, sizeof(reader->lost_parts));
    struct str about = openapi_text(reader, operation, "summary");
    if (!about.len)
        about = openapi_text(reader, operation, "description");
    openapi_put_str(reader, result, "name", name);
    if (about.len)
        openapi_put_str(reader, result, "description", about);
    openapi_put_str(reader, result, "method", arena_upper(reader->arena, str_from(method)));
    openapi_put_str(reader, result, "path", codec_percent_ascii(reader->arena, path->path));
    if (json_array_size(json_object_get(operation, "servers")) > 0 ||
        json_array_size(json_object_get(path->item, "servers")) > 0)
        fault = "it has a server of its own";
    if (fault == NULL)
        fault = openapi_inputs(reader, path->item, operation, at, result);
    if (fault == NULL)
        fault = result_fault(reader, path->auth, result);
    if (fault != NULL)
        openapi_skip(reader, name, fault);
    else if (!reader->is_over_limit) {
        name_reserve(reader, name);
        MUST(json_array_append(path->operations, result) == 0);
        losses_report(reader, name);
    }
}

static void paths_read(struct openapi_reader *reader, struct openapi_path *path)
{
    const json_t *paths = json_object_get(reader->root, "paths");
    const char *name;
    size_t len;
    json_t *item;

    if (!json_is_object(paths) || (json_object_size(paths) == 0 && reader->parts == NULL)) {
        openapi_fault(reader, STR("document.paths"), "must be an object with at least one path");
        return;
    }
    json_object_keylen_foreach((json_t *)paths, name, len, item)
    {
        path->path = (struct str){name, len};
        if (!openapi_count_cost(reader, ARRAY_LEN(openapi_methods), PATH_BYTES))
            return;
        path->at = arena_printf(
            reader->arena, "document.paths.%.*s", STR_ARG(utf8_cut(path->path, PATH_BYTES)));
        path->item = openapi_follow(reader, item, path->at);
        if (!json_is_object(path->item))
            continue;
        if (json_object_get(path->item, "trace") != NULL && !has_choice(path->options))
            openapi_skip(reader, path->path, "TRACE is not supported");
        for (size_t i = 0; openapi_methods[i] != NULL; i++)
            operation_read(reader, path, openapi_methods[i]);
    }
}

/* --- the whole --- */

/* Returns the address of the document's first server, with the defaults of its variables. */
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
        if (close == NULL || url.overflow)
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
base_url_read(struct openapi_reader *reader, const struct openapi_options *options, json_t *body)
{
    struct str url = fetch_url_escape(
        reader->arena, options->base_url.len ? options->base_url : server_url(reader));

    if (!url.len || integration_url_fault(url, false) != NULL)
        schema_error_add(reader->arena,
                         reader->errors,
                         STR("base_url"),
                         options->base_url.len ? PROBLEM_PATTERN : PROBLEM_REQUIRED,
                         "must be an absolute http or https address without a query%s",
                         options->base_url.len ? "" : ": the document's first server has none");
    openapi_put_str(reader, body, "base_url", url);
}

static void choices_check(struct openapi_reader *reader, const struct openapi_options *options)
{
    size_t count = reader->wanted_count;

    if (count > INTEGRATION_OPERATIONS_MAX)
        openapi_fault(reader,
                      STR("document.paths"),
                      "has %zu operations: list the names of at most %d of them in \"operations\"",
                      count,
                      INTEGRATION_OPERATIONS_MAX);
    for (size_t i = 0;
         has_choice(options) && !reader->is_over_limit && i < options->chosen_names->count;
         i++) {
        const struct choice *choice = map_get(reader->choices, options->chosen_names->items[i]);
        if (!choice->is_found)
            schema_error_add(reader->arena,
                             reader->errors,
                             arena_printf(reader->arena, "operations[%zu]", i),
                             PROBLEM_NOT_FOUND,
                             "the document has no such operation");
    }
}

bool openapi_import(struct arena *arena,
                    const struct openapi_options *options,
                    json_t **ret_body,
                    json_t **ret_skipped,
                    struct schema_errors *errors)
{
    struct openapi_reader reader = {
        .arena = arena,
        .root = options->document,
        .errors = errors,
        .skipped = jr_attach(arena, json_array()),
        .arena_before = arena_used_bytes(arena),
        .names = openapi_map(arena),
        .choices = openapi_map(arena),
        .stems = openapi_map(arena),
    };
    json_t *body = jr_attach(arena, json_object());
    size_t before = errors->count;

    choices_read(&reader, options);
    if (options->text.ptr != NULL)
        openapi_outline(&reader, options->text);
    if (json_object_get(reader.root, "swagger") != NULL) {
        openapi_fault(&reader,
                      STR("document.swagger"),
                      "means Swagger 2.0: convert the document to OpenAPI 3.0 or 3.1 first");
        return false;
    }
    if (!str_starts(jr_str(reader.root, "openapi"), STR("3."))) {
        openapi_fault(&reader, STR("document.openapi"), "must be 3.0 or 3.1");
        return false;
    }
    struct str title = openapi_text(&reader, json_object_get(reader.root, "info"), "title");
    openapi_put_str(
        &reader, body, "name", options->name.len ? options->name : plain_name(arena, title));
    if (title.len)
        openapi_put_str(&reader, body, "description", title);
    base_url_read(&reader, options, body);
    json_t *auth =
        options->auth != NULL ? json_incref((json_t *)options->auth) : openapi_auth(&reader);
    openapi_put(body, "auth", auth);
    struct openapi_path path = {.options = options, .auth = auth, .operations = json_array()};
    openapi_put(body, "operations", path.operations);
    paths_read(&reader, &path);
    choices_check(&reader, options);
    *ret_body = body;
    *ret_skipped = reader.skipped;
    return errors->count == before;
}
