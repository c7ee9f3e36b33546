/* OpenAPI documents: follows $ref. Of a document given as JSON text, parses only the outline: the
 * members about the whole document, and the operations that may be chosen. */
#include "base/codec.h"
#include "base/map.h"
#include "base/num.h"
#include "base/panic.h"
#include "integrations/openapi_import_private.h"
#include "json/jr.h"
#include "json/members.h"

#define HOPS_MAX       32   /* references that lead to references */
#define POINTER_COPIES 4    /* of a pointer while it is decoded */
#define PART_LEVELS    3    /* "components", "schemas", "Order" */
#define PART_BYTES     64   /* of a struct document_part, without its path */
#define ID_BYTES       4096 /* of an operationId whose escapes are decoded */

/* --- parts --- */

/* A value to which references may lead, in a document given as JSON text. The key in the map of
 * parts is the value's path: each name with a NUL before it. */
struct document_part {
    struct str text;
    json_t *tree; /* NULL = not parsed yet */
};

/* Parses a text and counts its value. Returns NULL with a finding. */
static json_t *text_parse(struct openapi_reader *reader, struct str text)
{
    size_t bytes = jr_tree_bytes(text);
    struct jr_error error;
    json_t *value;

    if (!openapi_count_cost(reader, 1, bytes))
        return NULL;
    reader->json_bytes += bytes;
    if (jr_parse(reader->arena, text, &value, &error) == 0)
        return value;
    openapi_fault(reader, STR("document"), "is not valid JSON: %s", error.text);
    return NULL;
}

/* Returns the value of a part, which is parsed once; NULL for NULL, or with a finding. */
static json_t *part_tree(struct openapi_reader *reader, struct document_part *part)
{
    if (part != NULL && part->tree == NULL)
        part->tree = text_parse(reader, part->text);
    return part != NULL ? part->tree : NULL;
}

static struct str part_path(struct arena *arena, struct str parent, struct str name)
{
    struct strbuf path;

    strbuf_init(&path, arena, parent.len + 1 + name.len);
    strbuf_str(&path, parent);
    strbuf_char(&path, '\0');
    strbuf_str(&path, name);
    return strbuf_view(&path);
}

static struct document_part *part_of_root(const struct openapi_reader *reader, const char *name)
{
    return map_get(reader->parts, part_path(reader->arena, STR_NONE, str_from(name)));
}

/* NOLINTBEGIN(misc-no-recursion): PART_LEVELS deep */
static void
parts_index(struct openapi_reader *reader, struct str parent, struct str object, int levels)
{
    struct json_members members = json_members_of(object);
    struct json_member member;

    while (levels > 0 && json_members_next(&members, &member)) {
        if (!openapi_count_cost(reader, 1, parent.len + 2 * member.key.len + PART_BYTES))
            return;
        struct str name = json_text_decode(reader->arena, member.key);
        struct str path = part_path(reader->arena, parent, name);
        struct document_part *part = ARENA_NEW(reader->arena, part);
        part->text = member.value;
        reader->json_bytes += path.len;
        if (map_put(reader->parts, path, part) != NULL)
            openapi_fault(reader, STR("document"), "is not valid JSON: duplicate object key");
        parts_index(reader, path, member.value, levels - 1);
    }
}
/* NOLINTEND(misc-no-recursion) */

/* --- references --- */

/* Decodes a part of a JSON pointer in a URI fragment (RFC 6901, 6): %xx, then ~1 as /, ~0 as ~. */
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

/* Returns the value of the deepest part on the pointer's path; *rest becomes the rest of the
 * pointer below this part. */
static const json_t *part_find(struct openapi_reader *reader, struct str *rest)
{
    struct str tail = *rest;
    struct str path = STR_NONE;
    struct document_part *found = NULL;
    struct str name;

    for (int level = 0; level < PART_LEVELS && tail.ptr != NULL; level++) {
        if (!pointer_part(reader->arena, str_split(&tail, '/'), &name))
            return NULL;
        path = part_path(reader->arena, path, name);
        struct document_part *part = map_get(reader->parts, path);
        if (part == NULL)
            break;
        found = part;
        *rest = tail;
    }
    return part_tree(reader, found);
}

static const json_t *pointer_find(struct openapi_reader *reader, struct str pointer)
{
    const json_t *at = reader->root;
    struct str rest = pointer;
    struct str name;
    int64_t index;

    (void)str_split(&rest, '/');
    if (reader->parts != NULL)
        at = part_find(reader, &rest);
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
        if (!openapi_count_cost(reader, 1, pointer.len * POINTER_COPIES))
            return NULL;
        if (pointer.ptr == NULL)
            return value;
        if (!str_starts(pointer, STR("#/"))) {
            openapi_fault(reader, at, "refers to another document, which is not fetched");
            return NULL;
        }
        value = pointer_find(reader, pointer);
        if (value == NULL) {
            openapi_fault(reader,
                          at,
                          "refers to a place that does not exist: %.*s",
                          (int)(pointer.len < 200 ? pointer.len : 200),
                          pointer.ptr);
            return NULL;
        }
    }
    openapi_fault(reader, at, "refers to itself in a cycle, or passes too many other references");
    return NULL;
}

/* --- outlines --- */

/* Returns an object with the members of an object's text that have one of the names. */
static json_t *
members_parse(struct openapi_reader *reader, struct str object, const char *const *names)
{
    struct json_members members = json_members_of(object);
    struct json_member member;
    json_t *result = jr_attach(reader->arena, openapi_object(reader));

    while (json_members_next(&members, &member)) {
        size_t i = 0;
        while (names[i] != NULL && !json_key_is(reader->arena, member.key, names[i]))
            i++;
        json_t *value = names[i] != NULL ? text_parse(reader, member.value) : NULL;
        if (value != NULL)
            MUST(json_object_set(result, names[i], value) == 0);
    }
    return result;
}

/* Returns whether an operation may belong in the result: its name is chosen, possibly with a
 * different number appended. True also if it is not an object, so that operation_read() reports
 * it. */
static bool operation_may_be_chosen(struct openapi_reader *reader,
                                    const char *method,
                                    struct str path,
                                    struct str operation)
{
    struct str id = json_member_find(reader->arena, operation, "operationId");

    if (!str_starts(operation, STR("{")))
        return true;
    id = str_starts(id, STR("\"")) ? (struct str){id.ptr + 1, id.len - 2} : STR_NONE;
    if (id.len <= ID_BYTES)
        id = json_text_decode(reader->arena, id);
    struct str name = openapi_operation_name(reader, id, method, path);
    return name.len > 0 && map_get(reader->stems, openapi_stem(name)) != NULL;
}

/* Returns the method that is the key's name; NULL = none. */
static const char *method_of(struct openapi_reader *reader, struct str key)
{
    for (size_t i = 0; openapi_methods[i] != NULL; i++)
        if (json_key_is(reader->arena, key, openapi_methods[i]))
            return openapi_methods[i];
    return NULL;
}

/* Makes the outline of a path; NULL when none of its operations may belong in the result. */
static json_t *item_outline(struct openapi_reader *reader, struct str path, struct str item)
{
    static const char *const shared[] = {"$ref", "parameters", "servers", NULL};
    static const char *const wanted[] = {
        "operationId", "summary", "description", "servers", "parameters", "requestBody", NULL};
    struct json_members members = json_members_of(item);
    struct json_member member;
    json_t *result = NULL;

    while (json_members_next(&members, &member) && !reader->is_over_limit) {
        const char *method = method_of(reader, member.key);
        if (method != NULL ? !operation_may_be_chosen(reader, method, path, member.value)
                           : !json_key_is(reader->arena, member.key, "$ref"))
            continue;
        if (result == NULL)
            result = members_parse(reader, item, shared);
        if (method == NULL)
            continue;
        json_t *operation = str_starts(member.value, STR("{"))
                                ? members_parse(reader, member.value, wanted)
                                : text_parse(reader, member.value);
        if (operation != NULL)
            MUST(json_object_set(result, method, operation) == 0);
    }
    return result;
}

static json_t *paths_outline(struct openapi_reader *reader, struct str paths)
{
    struct json_members members = json_members_of(paths);
    struct json_member member;
    json_t *result = jr_attach(reader->arena, openapi_object(reader));

    while (json_members_next(&members, &member) &&
           openapi_count_cost(reader, 1, 2 * member.key.len)) {
        struct str path = json_text_decode(reader->arena, member.key);
        json_t *item = item_outline(reader, path, member.value);
        if (item != NULL)
            MUST(json_object_setn(result, path.ptr, path.len, item) == 0);
    }
    return result;
}

void openapi_outline(struct openapi_reader *reader, struct str document)
{
    static const char *const head[] = {"openapi", "swagger", "info", "servers", "security"};
    static const char *const schemes[] = {"securitySchemes", NULL};
    json_t *root = jr_attach(reader->arena, openapi_object(reader));

    reader->root = root;
    reader->parts = openapi_map(reader->arena);
    parts_index(reader, STR_NONE, document, PART_LEVELS);
    for (size_t i = 0; i < ARRAY_LEN(head); i++) {
        json_t *value = part_tree(reader, part_of_root(reader, head[i]));
        if (value != NULL)
            MUST(json_object_set(root, head[i], value) == 0);
    }
    const struct document_part *components = part_of_root(reader, "components");
    const struct document_part *paths = part_of_root(reader, "paths");
    if (components != NULL)
        openapi_put(
            root, "components", json_incref(members_parse(reader, components->text, schemes)));
    if (paths != NULL && str_starts(paths->text, STR("{")))
        openapi_put(root, "paths", json_incref(paths_outline(reader, paths->text)));
}
