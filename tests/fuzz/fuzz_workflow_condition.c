/*
 * Any JSON as a condition, evaluated on itself and on fixed data: the parser accepts it or refuses
 * it with a position, an evaluation always gives the same result, and opposite operators give
 * opposite results.
 */
#include <stdint.h>
#include <string.h>

#include "base/panic.h"
#include "base/result.h"
#include "base/utf8.h"
#include "json/jr.h"
#include "workflow/condition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char root_text[] =
    "{\"trigger\":{\"id\":7,\"data\":{\"a\":1,\"b\":[1,2],\"c\":\"x\",\"d\":null,\"e\":\"1\","
    "\"f\":{\"a\":1}}},\"steps\":{\"s\":{\"data\":[]}},\"workflow\":{\"id\":1},\"job\":{\"id\":9}}";

static int visit(const struct reference_view *view, void *arg)
{
    (void)arg;
    MUST(utf8_valid(view->text) && utf8_valid(view->path) && view->path.len > 0);
    return 0;
}

static int
holds(struct arena *arena, const struct condition *condition, const json_t *root, bool *yes)
{
    struct template_context context = {.root = root};
    struct str error = STR_NONE;

    int rc = condition_eval(arena, condition, &context, yes, &error);
    MUST(rc == 0 || (rc > TEMPLATE_SYNTAX && rc <= TEMPLATE_TOO_LARGE));
    MUST(rc == 0 || (error.len > 0 && utf8_valid(error)));
    return rc;
}

/* The comparison with its opposite operator. */
static void check_opposite(struct arena *arena, json_t *value, const json_t *root, int rc, bool yes)
{
    static const char *const opposites[][2] = {{"eq", "ne"},
                                               {"in", "nin"},
                                               {"contains", "not_contains"},
                                               {"empty", "not_empty"},
                                               {"exists", "not_exists"}};
    const char *op = json_string_value(json_object_get(value, "op"));

    for (size_t i = 0; op != NULL && i < ARRAY_LEN(opposites); i++) {
        if (strcmp(op, opposites[i][0]) != 0)
            continue;
        struct condition *condition;
        struct str path;
        struct str error;
        bool other = false;
        MUST(json_object_set_new(value, "op", json_string(opposites[i][1])) == 0);
        MUST(condition_parse(arena, value, false, &condition, &path, &error) == 0);
        MUST(holds(arena, condition, root, &other) == rc);
        MUST(rc != 0 || other == !yes);
        return;
    }
}

static void check(struct arena *arena, json_t *value, const json_t *root, bool fields)
{
    struct condition *condition;
    struct str path = STR_NONE;
    struct str error = STR_NONE;
    bool yes = false;

    int rc = condition_parse(arena, value, fields, &condition, &path, &error);
    if (rc != 0) {
        MUST(rc == TEMPLATE_SYNTAX && error.len > 0 && utf8_valid(error) && utf8_valid(path));
        return;
    }
    MUST(condition_visit(condition, visit, NULL) == 0);
    (void)holds(arena, condition, value, &yes);
    rc = holds(arena, condition, root, &yes);
    if (!fields)
        check_opposite(arena, value, root, rc, yes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct jr_error error;
    json_t *root;
    json_t *value;

    MUST(jr_parse(arena, str_from(root_text), &root, &error) == 0);
    if (jr_parse(arena, (struct str){(const char *)data, size}, &value, &error) == 0) {
        check(arena, value, json_object_get(json_object_get(root, "trigger"), "data"), true);
        check(arena, value, root, false);
    }
    arena_free(arena);
    return 0;
}
