/* Texts with expressions: splitting, evaluating, visiting. */
#include "workflow/template.h"

#include "base/ascii.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "json/jr.h"
#include "json/jw.h"
#include "workflow/template_private.h"

/* --- splitting --- */

static size_t find_braces(struct str text)
{
    const char *at = text.len >= 2 ? memmem(text.ptr, text.len, "{{", 2) : NULL;

    return at != NULL ? (size_t)(at - text.ptr) : text.len;
}

bool template_has_braces(struct str text)
{
    return find_braces(text) < text.len;
}

static void template_skip(struct str *text, size_t bytes)
{
    text->ptr += bytes;
    text->len -= bytes;
}

static void template_skip_blanks(struct str *text)
{
    while (text->len > 0 && ascii_is_in(text->ptr[0], " \t\r\n"))
        template_skip(text, 1);
}

int template_next(struct arena *arena,
                  struct str *rest,
                  struct str *ret_literal,
                  struct reference **ret_reference,
                  struct str *ret_error)
{
    size_t start = find_braces(*rest);
    struct str tail = {rest->ptr + start, rest->len - start};

    *ret_literal = (struct str){rest->ptr, start};
    *ret_reference = NULL;
    if (tail.len == 0) {
        *rest = STR_NONE;
        return 0;
    }
    struct str shown = tail;
    template_skip(&tail, 2);
    template_skip_blanks(&tail);
    if (memmem(tail.ptr, tail.len, "}}", 2) == NULL) {
        *ret_error = arena_printf(
            arena, "\"%.*s\": \"{{\" is not closed", STR_ARG(text_shorten(arena, shown)));
        return TEMPLATE_SYNTAX;
    }
    TRY(reference_scan(arena, &tail, ret_reference, ret_error));
    template_skip_blanks(&tail);
    if (!str_starts(tail, STR("}}"))) {
        *ret_error = arena_printf(arena,
                                  "\"%.*s\": expected \"}}\" after the reference",
                                  STR_ARG(text_shorten(arena, shown)));
        return TEMPLATE_SYNTAX;
    }
    template_skip(&tail, 2);
    *rest = tail.len > 0 ? tail : STR_NONE;
    return 0;
}

bool template_is_single(struct arena *arena, struct str text)
{
    struct reference *reference;
    struct str literal;
    struct str error;

    return text.len > 0 && template_next(arena, &text, &literal, &reference, &error) == 0 &&
           literal.len == 0 && reference != NULL && text.ptr == NULL;
}

/* --- evaluating --- */

struct evaluation {
    struct arena *arena;
    const struct template_context *context;
    size_t bytes_left; /* bytes that the result may still add */
    size_t items_left; /* items that [*] may still expand */
    struct str *ret_error;
};

/* NOLINTBEGIN(misc-no-recursion): at most TEMPLATE_MAX_DEPTH deep */

static bool budget_take(size_t *left, size_t bytes)
{
    if (bytes > *left)
        return false;
    *left -= bytes;
    return true;
}

/* Subtracts the size of the value as JSON, without escapes, from *left. Returns false when the size
 * exceeds *left or the nesting exceeds `levels`. Reads no more of the value than fits. */
static bool template_budget_charge(const json_t *value, size_t levels, size_t *left)
{
    json_t *open = (json_t *)value; /* iteration needs a mutable type but changes nothing */
    size_t i;
    json_t *item;
    const char *name;
    size_t len;

    switch (json_typeof(value)) {
    case JSON_STRING:
        return budget_take(left, json_string_length(value) + 2);
    case JSON_OBJECT:
        if (levels == 0 || !budget_take(left, 2))
            return false;
        json_object_keylen_foreach(
            open, name, len, item) if (!budget_take(left, len + 4) ||
                                       !template_budget_charge(
                                           item, levels - 1, left)) return false;
        return true;
    case JSON_ARRAY:
        if (levels == 0 || !budget_take(left, 2))
            return false;
        json_array_foreach(
            open, i, item) if (!budget_take(left, 1) ||
                               !template_budget_charge(item, levels - 1, left)) return false;
        return true;
    default:
        return budget_take(left, 5);
    }
}

static struct str error_with_path(struct arena *arena, struct str place, struct str error)
{
    if (place.len == 0)
        return error;
    return arena_printf(arena, "%.*s: %.*s", STR_ARG(place), STR_ARG(error));
}

/* Prepends the place to *ret_error. */
static int template_fail(const struct evaluation *in, const struct json_path *at, int rc)
{
    *in->ret_error = error_with_path(in->arena, json_path_print(in->arena, at), *in->ret_error);
    return rc;
}

static int template_fail_too_large(const struct evaluation *in, const struct json_path *at)
{
    *in->ret_error = arena_printf(in->arena,
                                  "the result is larger than %d bytes or nested deeper than %d",
                                  TEMPLATE_MAX_BYTES,
                                  TEMPLATE_MAX_DEPTH);
    return template_fail(in, at, TEMPLATE_TOO_LARGE);
}

static void put_html(struct strbuf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '&':
            strbuf_str(out, STR("&amp;"));
            break;
        case '<':
            strbuf_str(out, STR("&lt;"));
            break;
        case '>':
            strbuf_str(out, STR("&gt;"));
            break;
        case '"':
            strbuf_str(out, STR("&quot;"));
            break;
        case '\'':
            strbuf_str(out, STR("&#39;"));
            break;
        default:
            strbuf_char(out, text.ptr[i]);
        }
    }
}

/* Inserts a value into other text. */
static bool insert_plain(struct strbuf *out, const json_t *value)
{
    size_t capacity = out->max;
    struct jw w;

    switch (json_typeof(value)) {
    case JSON_NULL:
        break;
    case JSON_STRING:
        strbuf_str(out, json_text(value));
        break;
    default:
        if (!template_budget_charge(
                value, TEMPLATE_MAX_DEPTH, &capacity)) /* the writer also needs this depth limit */
            return false;
        jw_init(&w, out);
        jw_json(&w, value);
        break;
    }
    return !out->overflow;
}

/* Inserts a value into HTML text, escaped so that HTML shows it unchanged. */
static bool insert_html(struct arena *arena, struct strbuf *out, const json_t *value)
{
    struct strbuf plain;

    strbuf_init(&plain, arena, out->max);
    if (!insert_plain(&plain, value))
        return false;
    put_html(out, strbuf_view(&plain));
    return !out->overflow;
}

static bool insert_value(const struct evaluation *in, struct strbuf *out, const json_t *value)
{
    return in->context->html ? insert_html(in->arena, out, value) : insert_plain(out, value);
}

static int
eval_mixed(struct evaluation *in, const struct json_path *at, struct str text, json_t **ret_value)
{
    struct strbuf out;

    strbuf_init(&out, in->arena, in->bytes_left);
    while (text.ptr != NULL) {
        struct reference *reference;
        struct str literal;
        json_t *value;
        int rc = template_next(in->arena, &text, &literal, &reference, in->ret_error);
        if (rc == 0 && reference != NULL)
            rc = reference_find(
                in->arena, reference, in->context, &in->items_left, &value, in->ret_error);
        if (rc != 0)
            return template_fail(in, at, rc);
        strbuf_str(&out, literal);
        if (out.overflow || (reference != NULL && !insert_value(in, &out, value)))
            return template_fail_too_large(in, at);
    }
    if (!budget_take(&in->bytes_left, out.len + 2))
        return template_fail_too_large(in, at);
    *ret_value = jr_attach(in->arena, json_stringn(out.len > 0 ? out.ptr : "", out.len));
    return 0;
}

static int eval_text(struct evaluation *in,
                     const struct json_path *at,
                     const json_t *value,
                     size_t levels,
                     json_t **ret_value)
{
    struct str rest = json_text(value);
    struct reference *reference;
    struct str literal;
    int rc;

    if (!template_has_braces(rest)) {
        *ret_value = (json_t *)value;
        return budget_take(&in->bytes_left, rest.len + 2) ? 0 : template_fail_too_large(in, at);
    }
    rc = template_next(in->arena, &rest, &literal, &reference, in->ret_error);
    if (rc != 0)
        return template_fail(in, at, rc);
    if (literal.len > 0 || rest.ptr != NULL || in->context->html)
        return eval_mixed(in, at, json_text(value), ret_value);
    rc = reference_find(
        in->arena, reference, in->context, &in->items_left, ret_value, in->ret_error);
    if (rc != 0)
        return template_fail(in, at, rc);
    return template_budget_charge(*ret_value, levels, &in->bytes_left)
               ? 0
               : template_fail_too_large(in, at);
}

static int eval_value(struct evaluation *in,
                      const struct json_path *at,
                      const json_t *value,
                      size_t levels,
                      json_t **ret_value);

/* Copies the object at the first member whose value changes; shares it when none does. */
static int eval_object(struct evaluation *in,
                       const struct json_path *at,
                       const json_t *value,
                       size_t levels,
                       json_t **ret_value)
{
    json_t *result = (json_t *)value;
    json_t *item;
    const char *name;
    size_t len;

    json_object_keylen_foreach((json_t *)value, name, len, item)
    {
        struct json_path member = {.parent = at, .name = {name, len}};
        json_t *changed;
        if (!budget_take(&in->bytes_left, len + 4))
            return template_fail_too_large(in, at);
        TRY(eval_value(in, &member, item, levels, &changed));
        if (changed == item)
            continue;
        if (result == value)
            result = jr_attach(in->arena, json_copy((json_t *)value));
        MUST(json_object_setn_nocheck(result, name, len, changed) == 0);
    }
    *ret_value = result;
    return 0;
}

static int eval_array(struct evaluation *in,
                      const struct json_path *at,
                      const json_t *value,
                      size_t levels,
                      json_t **ret_value)
{
    json_t *result = (json_t *)value;
    json_t *item;
    size_t i;

    json_array_foreach((json_t *)value, i, item)
    {
        struct json_path member = {.parent = at, .index = i};
        json_t *changed;
        if (!budget_take(&in->bytes_left, 1))
            return template_fail_too_large(in, at);
        TRY(eval_value(in, &member, item, levels, &changed));
        if (changed == item)
            continue;
        if (result == value)
            result = jr_attach(in->arena, json_copy((json_t *)value));
        MUST(json_array_set(result, i, changed) == 0);
    }
    *ret_value = result;
    return 0;
}

static int eval_value(struct evaluation *in,
                      const struct json_path *at,
                      const json_t *value,
                      size_t levels,
                      json_t **ret_value)
{
    bool container = json_is_object(value) || json_is_array(value);

    if (json_is_string(value))
        return eval_text(in, at, value, levels, ret_value);
    if (!budget_take(&in->bytes_left, container ? 2 : 5) || (container && levels == 0))
        return template_fail_too_large(in, at);
    if (json_is_object(value))
        return eval_object(in, at, value, levels - 1, ret_value);
    if (json_is_array(value))
        return eval_array(in, at, value, levels - 1, ret_value);
    *ret_value = (json_t *)value;
    return 0;
}

int template_eval(struct arena *arena,
                  const json_t *value,
                  const struct template_context *context,
                  json_t **ret_value,
                  struct str *ret_error)
{
    struct evaluation in = {arena, context, TEMPLATE_MAX_BYTES, TEMPLATE_MAX_ITEMS, ret_error};

    return eval_value(&in, NULL, value, TEMPLATE_MAX_DEPTH, ret_value);
}

/* --- visiting --- */

struct visiting {
    struct arena *arena;
    template_visit_fn visit;
    void *arg;
    struct str *ret_place;
    struct str *ret_error;
};

static int visit_text(const struct visiting *in, const struct json_path *at, struct str text)
{
    while (text.ptr != NULL) {
        struct reference *reference;
        struct str literal;
        int rc = template_next(in->arena, &text, &literal, &reference, in->ret_error);
        if (rc != 0) {
            *in->ret_place = json_path_print(in->arena, at);
            return rc;
        }
        if (reference == NULL)
            continue;
        struct reference_view view = reference_view(reference);
        view.path = json_path_print(in->arena, at);
        TRY(in->visit(&view, in->arg));
    }
    return 0;
}

static int visit_value(const struct visiting *in,
                       const struct json_path *at,
                       const json_t *value,
                       size_t levels)
{
    json_t *open = (json_t *)value; /* iteration needs a mutable type but changes nothing */
    struct json_path member = {.parent = at};
    json_t *item;
    size_t len;

    if (json_is_string(value))
        return template_has_braces(json_text(value)) ? visit_text(in, at, json_text(value)) : 0;
    if ((json_is_object(value) || json_is_array(value)) && levels == 0) {
        *in->ret_place = json_path_print(in->arena, at);
        *in->ret_error = STR("is nested too deep");
        return TEMPLATE_SYNTAX;
    }
    if (json_is_object(value)) {
        const char *name;
        json_object_keylen_foreach(open, name, len, item)
        {
            member.name = (struct str){name, len};
            TRY(visit_value(in, &member, item, levels - 1));
        }
    } else if (json_is_array(value)) {
        json_array_foreach(open, member.index, item)
            TRY(visit_value(in, &member, item, levels - 1));
    }
    return 0;
}

/* NOLINTEND(misc-no-recursion) */

int template_visit(struct arena *arena,
                   const json_t *value,
                   bool braces,
                   template_visit_fn visit,
                   void *arg,
                   struct str *ret_place,
                   struct str *ret_error)
{
    struct visiting in = {arena, visit, arg, ret_place, ret_error};

    *ret_place = STR_NONE;
    if (braces)
        return visit_value(&in, NULL, value, TEMPLATE_MAX_DEPTH); /* as deep as evaluation goes */
    if (!json_is_string(value))
        return 0;
    struct reference *reference;
    TRY(reference_parse(arena, json_text(value), &reference, ret_error));
    struct reference_view view = reference_view(reference);
    return visit(&view, arg);
}

/* --- rows --- */

struct counting {
    struct arena *arena;
    const struct template_context *context;
    size_t rows;
    struct str *ret_error;
};

static int template_count_rows(const struct reference_view *view, void *arg)
{
    struct counting *in = arg;
    struct reference *reference;
    struct str shown = text_shorten(in->arena, view->text);
    size_t rows;

    if (!view->has_wildcard)
        return 0;
    TRY(reference_parse(in->arena, view->text, &reference, in->ret_error));
    int rc = reference_rows(in->arena, reference, in->context, &rows, in->ret_error);
    if (rc == 0 && in->rows != SIZE_MAX && in->rows != rows) {
        *in->ret_error = arena_printf(in->arena,
                                      "%.*s: [*] has %zu rows, but an earlier [*] has %zu",
                                      STR_ARG(shown),
                                      rows,
                                      in->rows);
        rc = TEMPLATE_UNRESOLVED;
    }
    if (rc != 0) {
        *in->ret_error = error_with_path(in->arena, view->path, *in->ret_error);
        return rc;
    }
    in->rows = rows;
    return 0;
}

int template_rows(struct arena *arena,
                  const json_t *value,
                  const struct template_context *context,
                  size_t *ret_rows,
                  struct str *ret_error)
{
    struct counting in = {arena, context, SIZE_MAX, ret_error};
    struct str place;

    TRY(template_visit(arena, value, true, template_count_rows, &in, &place, ret_error));
    *ret_rows = in.rows;
    return 0;
}
