/*
 * Any text as a template, and any JSON as parameters and as the data of the evaluation: the result
 * is JSON within its limits, the parameters do not change, and the result has no secret unless the
 * template names one and may use it.
 */
#include <stdint.h>
#include <string.h>

#include "base/panic.h"
#include "base/result.h"
#include "base/utf8.h"
#include "json/jr.h"
#include "workflow/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRET "qzxsecret"

static const char root_text[] =
    "{\"trigger\":{\"kind\":\"event\",\"id\":7,\"data\":{\"a\":1,\"b\":[{\"c\":2,\"d\":[3]},"
    "{\"c\":\"{{ $svc.secrets.K }}\",\"d\":[]}],\"n\":null,\"t\":\"{{ $svc.trigger.id }}\","
    "\"odd key\":1.5}},\"steps\":{\"s\":{\"data\":[{\"id\":5}]}},\"workflow\":{\"id\":1,"
    "\"name\":\"W\"},\"job\":{\"id\":9}}";

static struct str secret_of(struct str name, void *arg)
{
    (void)arg;
    return str_is(name, "K") ? STR(SECRET) : STR_NONE;
}

static bool has(struct str text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static void check(struct arena *arena, const json_t *value, const json_t *root, bool secrets)
{
    struct template_context context = {.root = root, .secret = secrets ? secret_of : NULL};
    struct str before = jr_print(arena, value);
    struct str error = STR_NONE;
    struct jr_error wrong;
    json_t *result;
    json_t *again;

    int rc = template_eval(arena, value, &context, &result, &error);
    MUST(str_eq(before, jr_print(arena, value)));
    if (rc != 0) {
        MUST(rc >= TEMPLATE_SYNTAX && rc <= TEMPLATE_TOO_LARGE);
        MUST(error.len > 0 && utf8_valid(error) && error.len < 8192);
        MUST(has(before, SECRET) || !has(error, SECRET));
        return;
    }
    struct str text = jr_print(arena, result);
    MUST(text.len <= 6 * TEMPLATE_MAX_BYTES);
    MUST(jr_parse(arena, text, &again, &wrong) == 0);
    MUST(has(before, SECRET) || !has(text, SECRET) || (secrets && has(before, "secrets")));
}

static int visit(const struct reference_view *view, void *arg)
{
    (void)arg;
    MUST(view->root.len > 0 && utf8_valid(view->text) && utf8_valid(view->path));
    return 0;
}

static void check_visit(struct arena *arena, const json_t *value, const json_t *root)
{
    struct template_context context = {.root = root, .secret = secret_of};
    struct str place;
    struct str error = STR_NONE;
    json_t *result;

    /* A template that the visit accepts never fails later for its syntax. */
    int rc = template_visit(arena, value, true, visit, NULL, &place, &error);
    MUST(rc == 0 || rc == TEMPLATE_SYNTAX);
    MUST(rc == 0 || (error.len > 0 && utf8_valid(place)));
    if (rc == 0)
        MUST(template_eval(arena, value, &context, &result, &error) != TEMPLATE_SYNTAX);
    (void)template_visit(arena, value, false, visit, NULL, &place, &error);
}

static void check_reference(struct arena *arena, struct str text, const json_t *root)
{
    struct template_context context = {.root = root, .secret = secret_of};
    struct reference *reference;
    struct str error;
    json_t *value;

    if (reference_parse(arena, text, &reference, &error) == 0)
        (void)reference_eval(arena, reference, &context, &value, &error);
    if (reference_parse_path(arena, text, &reference, &error) == 0)
        (void)reference_eval(arena, reference, &context, &value, &error);
}

static void free_value(void *value)
{
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str source = {(const char *)data, size};
    struct jr_error error;
    json_t *root;
    json_t *value;

    MUST(jr_parse(arena, str_from(root_text), &root, &error) == 0);
    /* No text has U+0000: the reader refuses this character. */
    bool nul = size > 0 && memchr(data, 0, size) != NULL;
    json_t *text = nul ? NULL : json_stringn(source.ptr ? source.ptr : "", size);
    if (text != NULL) {
        arena_defer(arena, free_value, text);
        check(arena, text, root, true);
        check(arena, text, root, false);
        check_visit(arena, text, root);
        check_reference(arena, source, root);
    }
    if (jr_parse(arena, source, &value, &error) == 0) {
        check(arena, value, root, true);
        check(arena, value, value, false);
        check_visit(arena, value, root);
    }
    arena_free(arena);
    return 0;
}
