/* Reading a few members without a tree: refuses the same texts as the guarded reader, and finds the
 * same values. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/panic.h"
#include "json/jr.h"
#include "json/skim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NUMBER_MAX 512

/* The value at a path in the tree; NULL when the tree has none. */
static const json_t *find(const json_t *value, struct str path)
{
    while (path.ptr != NULL && value != NULL) {
        struct str key = str_split(&path, '.');
        value = json_object_getn(value, key.ptr, key.len);
    }
    return value;
}

static void check_item(const json_t *root, const struct skim_item *item)
{
    const json_t *value = find(root, str_from(item->path));

    switch (item->kind) {
    case SKIM_MISSING:
        MUST(value == NULL);
        break;
    case SKIM_STRING:
        MUST(json_is_string(value));
        MUST(str_eq(item->text, (struct str){json_string_value(value), json_string_length(value)}));
        break;
    case SKIM_NUMBER:
        MUST(json_is_number(value));
        break;
    case SKIM_OTHER:
        MUST(value != NULL && !json_is_string(value) && !json_is_number(value));
        break;
    }
}

/* The guarded reader accepts longer numbers. */
static bool has_long_token(struct str text)
{
    size_t run = 0;

    for (size_t i = 0; i < text.len; i++) {
        run = strchr("0123456789+-.eE", text.ptr[i]) != NULL ? run + 1 : 0;
        if (run > NUMBER_MAX)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str text = {size ? (const char *)data : "", size};
    struct skim_item items[] = {{.path = "id"},
                                {.path = "a"},
                                {.path = "a.b"},
                                {.path = "a.b.c"},
                                {.path = "data.object.metadata.project_id"}};
    const char *reason = NULL;
    struct jr_error error;
    json_t *root = NULL;

    int rc = skim_parse(arena, text, items, ARRAY_LEN(items), &reason);
    int wanted = jr_parse(arena, text, &root, &error);
    MUST((rc != 0) == (reason != NULL));
    if (rc == 0 && wanted != 0)
        MUST(strstr(error.text, "duplicate object key") != NULL);
    if (rc != 0 && wanted == 0)
        MUST(has_long_token(text));
    for (size_t i = 0; rc == 0 && wanted == 0 && i < ARRAY_LEN(items); i++)
        check_item(root, &items[i]);
    arena_free(arena);
    return 0;
}
