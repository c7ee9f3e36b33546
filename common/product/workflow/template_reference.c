/* References: parsing, and lookup in a context. */
#include <stdarg.h>

#include "base/ascii.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "json/jr.h"
#include "workflow/template_private.h"

#define SHOWN_BYTES  120
#define INDEX_DIGITS 9 /* no array in memory has a billion items */

static const char *const roots[] = {
    [ROOT_TRIGGER] = "trigger",
    [ROOT_STEPS] = "steps",
    [ROOT_SECRETS] = "secrets",
    [ROOT_WORKFLOW] = "workflow",
    [ROOT_JOB] = "job",
};

struct str text_shorten(struct arena *arena, struct str text)
{
    if (text.len <= SHOWN_BYTES)
        return arena_dup(arena, text);
    return arena_printf(arena, "%.*s...", STR_ARG(utf8_cut(text, SHOWN_BYTES)));
}

const char *json_type_text(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        break;
    }
    return "null";
}

struct str json_text(const json_t *value)
{
    return (struct str){json_string_value(value), json_string_length(value)};
}

/* --- parsing --- */

struct parsing {
    struct arena *arena;
    struct str text; /* the rest, not parsed yet */
    struct reference_part parts[REFERENCE_PARTS];
    size_t count;
    const char *error;
};

static bool reference_refuse(struct parsing *in, const char *wrong)
{
    in->error = wrong;
    return false;
}

static bool reference_take(struct parsing *in, char c)
{
    if (in->text.len == 0 || in->text.ptr[0] != c)
        return false;
    in->text.ptr++;
    in->text.len--;
    return true;
}

static bool reference_is_digit(char c)
{
    return ascii_is(c, ASCII_DIGIT);
}

static bool is_name(char c)
{
    return ascii_is(c, ASCII_ALNUM) || c == '_' || c == '-';
}

static struct str take_while(struct parsing *in, bool (*fits)(char c))
{
    struct str taken = {in->text.ptr, 0};

    while (taken.len < in->text.len && fits(in->text.ptr[taken.len]))
        taken.len++;
    in->text.ptr += taken.len;
    in->text.len -= taken.len;
    return taken;
}

static struct reference_part *reference_add_part(struct parsing *in, enum reference_part_kind kind)
{
    if (in->count == REFERENCE_PARTS) {
        (void)reference_refuse(in, "a reference has at most 64 parts");
        return NULL;
    }
    struct reference_part *part = &in->parts[in->count++];
    *part = (struct reference_part){.kind = kind};
    return part;
}

static bool reference_read_name(struct parsing *in)
{
    struct str name = take_while(in, is_name);
    struct reference_part *part;

    if (name.len == 0)
        return reference_refuse(in,
                                "expected a name of letters, digits, \"_\" and \"-\" after \".\"");
    if ((part = reference_add_part(in, PART_NAME)) == NULL)
        return false;
    part->name = name;
    return true;
}

/* Reads a quoted name, after the opening [". The name borrows unless it has an escape. */
static bool read_quoted(struct parsing *in)
{
    struct reference_part *part = reference_add_part(in, PART_NAME);
    size_t len = 0;
    bool escaped = false;

    if (part == NULL)
        return false;
    for (; len < in->text.len && in->text.ptr[len] != '"'; len++) {
        if (in->text.ptr[len] != '\\')
            continue;
        escaped = true;
        if (++len == in->text.len || (in->text.ptr[len] != '"' && in->text.ptr[len] != '\\'))
            return reference_refuse(in, "a quoted name can only have the escapes \\\" and \\\\");
    }
    if (len == in->text.len)
        return reference_refuse(in, "a quoted name is not closed");
    part->name = (struct str){in->text.ptr, len};
    if (escaped) {
        char *copy = arena_alloc(in->arena, len);
        size_t kept_count = 0;
        for (size_t i = 0; i < len; i++) {
            i += in->text.ptr[i] == '\\';
            copy[kept_count++] = in->text.ptr[i];
        }
        part->name = (struct str){copy, kept_count};
    }
    in->text.ptr += len + 1;
    in->text.len -= len + 1;
    return true;
}

static bool read_index(struct parsing *in)
{
    struct str digits = take_while(in, reference_is_digit);
    struct reference_part *part;
    int64_t index;

    if (digits.len == 0)
        return reference_refuse(
            in, "expected a number from 0, a quoted name or * between \"[\" and \"]\"");
    if (digits.len > INDEX_DIGITS)
        return reference_refuse(in, "an index has at most nine digits");
    if (!num_parse_i64(digits, &index))
        return reference_refuse(in, "an index must not have leading zeros");
    if ((part = reference_add_part(in, PART_INDEX)) == NULL)
        return false;
    part->index = (size_t)index;
    return true;
}

static bool read_bracket(struct parsing *in)
{
    bool right = reference_take(in, '*')   ? reference_add_part(in, PART_ALL) != NULL
                 : reference_take(in, '"') ? read_quoted(in)
                                           : read_index(in);

    return right && (reference_take(in, ']') || reference_refuse(in, "expected \"]\""));
}

static bool read_parts(struct parsing *in)
{
    for (;;) {
        if (reference_take(in, '.')) {
            if (!reference_read_name(in))
                return false;
        } else if (reference_take(in, '[')) {
            if (!read_bracket(in))
                return false;
        } else {
            return true;
        }
    }
}

static bool check_root(struct parsing *in, enum reference_root *ret_root)
{
    size_t root = 0;

    while (root < ARRAY_LEN(roots) && !str_is(in->parts[0].name, roots[root]))
        root++;
    if (root == ARRAY_LEN(roots))
        return reference_refuse(
            in, "expected .trigger, .steps, .secrets, .workflow or .job after $svc");
    if (root == ROOT_STEPS && (in->count < 2 || in->parts[1].kind != PART_NAME))
        return reference_refuse(in, "expected the key of a step after steps");
    if (root == ROOT_SECRETS && (in->count != 2 || in->parts[1].kind != PART_NAME))
        return reference_refuse(in, "expected the name of a secret and nothing else after secrets");
    *ret_root = (enum reference_root)root;
    return true;
}

static bool read_reference(struct parsing *in, enum reference_root *ret_root)
{
    if (!str_starts(in->text, STR("$svc")))
        return reference_refuse(in, "expected a reference that begins with $svc");
    in->text.ptr += 4;
    in->text.len -= 4;
    if (in->text.len == 0 || in->text.ptr[0] != '.')
        return reference_refuse(
            in, "expected .trigger, .steps, .secrets, .workflow or .job after $svc");
    return read_parts(in) && check_root(in, ret_root);
}

static bool reference_read_path(struct parsing *in)
{
    bool bracket = in->text.len > 0 && in->text.ptr[0] == '[';

    return (bracket || reference_read_name(in)) && read_parts(in);
}

static struct reference *
make_reference(struct parsing *in, struct str start, enum reference_root root)
{
    struct reference *reference = ARENA_NEW(in->arena, reference);

    reference->text = (struct str){start.ptr, start.len - in->text.len};
    reference->root = root;
    reference->count = in->count;
    reference->parts = ARENA_ARRAY(in->arena, reference->parts, in->count);
    memcpy(reference->parts, in->parts, in->count * sizeof(in->parts[0]));
    for (size_t i = 0; i < in->count; i++)
        reference->has_wildcard |= in->parts[i].kind == PART_ALL;
    return reference;
}

static int reference_fail_syntax(struct parsing *in, struct str text, struct str *ret_error)
{
    struct str shown = text_shorten(in->arena, text);

    *ret_error = arena_printf(in->arena, "\"%.*s\": %s", STR_ARG(shown), in->error);
    return TEMPLATE_SYNTAX;
}

int reference_scan(struct arena *arena,
                   struct str *rest,
                   struct reference **ret_reference,
                   struct str *ret_error)
{
    struct parsing in = {.arena = arena, .text = *rest};
    enum reference_root root = ROOT_NONE;

    if (!read_reference(&in, &root))
        return reference_fail_syntax(&in, *rest, ret_error);
    *ret_reference = make_reference(&in, *rest, root);
    *rest = in.text;
    return 0;
}

static bool reference_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct str reference_trim(struct str text)
{
    while (text.len > 0 && reference_is_blank(text.ptr[text.len - 1]))
        text.len--;
    while (text.len > 0 && reference_is_blank(text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    return text;
}

int reference_parse(struct arena *arena,
                    struct str text,
                    struct reference **ret_reference,
                    struct str *ret_error)
{
    struct parsing in = {.arena = arena, .text = reference_trim(text)};
    struct str start = in.text;
    enum reference_root root = ROOT_NONE;

    if (str_starts(start, STR("{{")))
        in.error = "a reference must be written without braces here";
    else if (read_reference(&in, &root) && in.text.len > 0)
        in.error = "expected nothing after the reference";
    if (in.error != NULL)
        return reference_fail_syntax(&in, start, ret_error);
    *ret_reference = make_reference(&in, start, root);
    return 0;
}

int reference_parse_path(struct arena *arena,
                         struct str text,
                         struct reference **ret_reference,
                         struct str *ret_error)
{
    struct parsing in = {.arena = arena, .text = reference_trim(text)};
    struct str start = in.text;

    if (reference_read_path(&in) && in.text.len > 0)
        in.error = "expected \".name\", \"[0]\" or \"[*]\"";
    if (in.error != NULL)
        return reference_fail_syntax(&in, start, ret_error);
    *ret_reference = make_reference(&in, start, ROOT_NONE);
    return 0;
}

struct reference_view reference_view(const struct reference *reference)
{
    struct reference_view view = {
        .root = reference->parts[0].name,
        .text = reference->text,
        .has_wildcard = reference->has_wildcard,
    };

    if (reference->count > 1 && reference->parts[1].kind == PART_NAME)
        view.second_part = reference->parts[1].name;
    return view;
}

/* --- evaluating --- */

struct lookup {
    struct arena *arena;
    const struct reference *reference;
    struct str *ret_error;
    const json_t **values; /* after a [*]: the values that the parts so far lead to */
    size_t count;
    size_t *items_left; /* items that [*] may still expand */
};

static int PRINTF_LIKE(2, 3) lookup_fail(const struct lookup *in, const char *format, ...)
{
    struct str shown = text_shorten(in->arena, in->reference->text);
    va_list args;

    va_start(args, format);
    struct str reason = arena_vprintf(in->arena, format, args);
    va_end(args);
    *in->ret_error =
        arena_printf(in->arena, "%.*s does not resolve: %.*s", STR_ARG(shown), STR_ARG(reason));
    return TEMPLATE_UNRESOLVED;
}

/* Describes the value in which `part` is searched: "data[0]", after a [*] with the number of the
 * item. */
static struct str lookup_describe(const struct lookup *in, size_t part, size_t item)
{
    const struct reference_part *parts = in->reference->parts;
    size_t from = part;
    struct strbuf out;

    strbuf_init(&out, in->arena, 4096);
    if (in->values != NULL)
        strbuf_printf(&out, "item %zu of ", item);
    if (part == 0)
        strbuf_str(&out, in->reference->root == ROOT_NONE ? STR("the value") : STR("$svc"));
    while (from > 0 && (from == part || parts[from].kind != PART_NAME))
        from--;
    for (; from < part; from++) {
        if (parts[from].kind == PART_NAME)
            strbuf_str(&out, text_shorten(in->arena, parts[from].name));
        else if (parts[from].kind == PART_INDEX)
            strbuf_printf(&out, "[%zu]", parts[from].index);
        else
            strbuf_str(&out, STR("[*]"));
    }
    return strbuf_view(&out);
}

/* Fails with the reason why `value` does not have what the part asks for. */
static int lookup_fail_missing(const struct lookup *in, size_t at, size_t item, const json_t *value)
{
    const struct reference_part *part = &in->reference->parts[at];
    struct str name = text_shorten(in->arena, part->name);
    struct str what = lookup_describe(in, at, item);

    if (part->kind == PART_NAME && at == 1 && in->reference->root == ROOT_STEPS)
        return lookup_fail(in, "step \"%.*s\" has not run", STR_ARG(name));
    if (part->kind == PART_NAME && json_is_object(value))
        return lookup_fail(in, "%.*s has no member \"%.*s\"", STR_ARG(what), STR_ARG(name));
    if (part->kind == PART_INDEX && json_is_array(value))
        return lookup_fail(in, "%.*s has %zu items", STR_ARG(what), json_array_size(value));
    if (value == NULL || json_is_null(value))
        return lookup_fail(in, "%.*s is null", STR_ARG(what));
    return lookup_fail(in,
                       "%.*s is %s, not %s",
                       STR_ARG(what),
                       json_type_text(value),
                       part->kind == PART_NAME ? "an object" : "an array");
}

/* Returns the value one name or index further, or NULL when there is none. */
static const json_t *reference_step(const struct reference_part *part, const json_t *value)
{
    if (part->kind == PART_NAME)
        return json_object_getn(value, part->name.ptr, part->name.len);
    return json_array_get(value, part->index);
}

/* Resolves [*]: the items of all current values replace these values. */
static int reference_expand_items(struct lookup *in, size_t at)
{
    size_t total = 0;
    const json_t **items;

    for (size_t i = 0; i < in->count; i++) {
        if (!json_is_array(in->values[i]))
            return lookup_fail_missing(in, at, i, in->values[i]);
        total += json_array_size(in->values[i]);
    }
    if (total > *in->items_left) {
        *in->ret_error = arena_printf(in->arena,
                                      "%.*s: [*] expands to more than %d items",
                                      STR_ARG(text_shorten(in->arena, in->reference->text)),
                                      TEMPLATE_MAX_ITEMS);
        return TEMPLATE_TOO_LARGE;
    }
    *in->items_left -= total;
    items = arena_zalloc_array(in->arena, sizeof(*items), total);
    total = 0;
    for (size_t i = 0; i < in->count; i++)
        for (size_t k = 0; k < json_array_size(in->values[i]); k++)
            items[total++] = json_array_get(in->values[i], k);
    in->values = items;
    in->count = total;
    return 0;
}

/* Resolves the parts from the first [*] on, for several values at once. */
static int
reference_resolve_all(struct lookup *in, size_t at, const json_t *value, json_t **ret_value)
{
    const struct reference *reference = in->reference;

    if (!json_is_array(value))
        return lookup_fail_missing(in, at, 0, value);
    in->values = arena_zalloc_array(in->arena, sizeof(*in->values), 1);
    in->values[0] = value;
    in->count = 1;
    for (; at < reference->count; at++) {
        if (reference->parts[at].kind == PART_ALL) {
            TRY(reference_expand_items(in, at));
            continue;
        }
        for (size_t i = 0; i < in->count; i++) {
            const json_t *found = reference_step(&reference->parts[at], in->values[i]);
            if (found == NULL)
                return lookup_fail_missing(in, at, i, in->values[i]);
            in->values[i] = found;
        }
    }
    *ret_value = jr_attach(in->arena, json_array());
    for (size_t i = 0; i < in->count; i++)
        MUST(json_array_append(*ret_value, (json_t *)in->values[i]) == 0);
    return 0;
}

static int
find_secret(struct lookup *in, const struct template_context *context, json_t **ret_value)
{
    struct str name = in->reference->parts[1].name;
    struct str shown = text_shorten(in->arena, name);

    if (context->secret == NULL) {
        *in->ret_error = arena_printf(
            in->arena,
            "$svc.secrets.%.*s: secrets can only be used in the headers and the body of CallAnApi",
            STR_ARG(shown));
        return TEMPLATE_FORBIDDEN;
    }
    struct str text = context->secret(name, context->secret_arg);
    if (text.ptr == NULL)
        return lookup_fail(in, "there is no secret \"%.*s\"", STR_ARG(shown));
    json_t *value = json_stringn(text.ptr, text.len);
    if (value == NULL)
        return lookup_fail(in, "the secret \"%.*s\" is not UTF-8", STR_ARG(shown));
    *ret_value = jr_attach(in->arena, value);
    return 0;
}

/* Whether part `at` is the data of the trigger, which is an empty object when the trigger had no
 * payload. */
static bool is_payload(const struct reference *reference, size_t at)
{
    return at == 1 && reference->root == ROOT_TRIGGER && reference->parts[1].kind == PART_NAME &&
           str_is(reference->parts[1].name, "data");
}

/* Resolves the parts from *at to the next [*], or to the end. */
static int reference_resolve_parts(struct lookup *in, size_t *at, const json_t **value)
{
    const struct reference *reference = in->reference;

    for (; *at < reference->count && reference->parts[*at].kind != PART_ALL; ++*at) {
        const json_t *found = reference_step(&reference->parts[*at], *value);
        if (is_payload(reference, *at) && (found == NULL || json_is_null(found)))
            found = jr_attach(in->arena, json_object());
        if (found == NULL)
            return lookup_fail_missing(in, *at, 0, *value);
        *value = found;
    }
    return 0;
}

/* Resolves the [*] at part `at` as [row]. */
static int reference_find_row(struct lookup *in, size_t at, size_t row, const json_t **value)
{
    const json_t *found = json_array_get(*value, row);

    if (!json_is_array(*value))
        return lookup_fail_missing(in, at, 0, *value);
    if (found == NULL)
        return lookup_fail(
            in, "%.*s has %zu items", STR_ARG(lookup_describe(in, at, 0)), json_array_size(*value));
    *value = found;
    return 0;
}

json_t *template_no_payload(void)
{
    static json_t *nothing;

    if (nothing == NULL)
        nothing = json_object();
    MUST(nothing != NULL);
    return nothing;
}

/* Whether the reference leads into the data of a trigger that has no payload. */
static bool reference_is_into_no_payload(const struct reference *reference,
                                         const struct template_context *context)
{
    const json_t *trigger = json_object_get(context->root, "trigger");

    return reference->root == ROOT_TRIGGER && reference->count > 2 &&
           json_object_get(trigger, "data") == template_no_payload() &&
           reference->parts[1].kind == PART_NAME && str_is(reference->parts[1].name, "data");
}

int reference_find(struct arena *arena,
                   const struct reference *reference,
                   const struct template_context *context,
                   size_t *left,
                   json_t **ret_value,
                   struct str *ret_error)
{
    struct lookup in = {
        .arena = arena, .reference = reference, .ret_error = ret_error, .items_left = left};
    const json_t *value = context->root;
    size_t at = 0;

    if (reference->root == ROOT_SECRETS)
        return find_secret(&in, context, ret_value);
    if (reference_is_into_no_payload(reference, context)) {
        *ret_value = jr_attach(arena, json_null());
        return 0;
    }
    TRY(reference_resolve_parts(&in, &at, &value));
    if (at < reference->count && context->by_row) {
        TRY(reference_find_row(&in, at++, context->row, &value));
        TRY(reference_resolve_parts(&in, &at, &value));
    }
    if (at < reference->count)
        return reference_resolve_all(&in, at, value, ret_value);
    *ret_value = (json_t *)value;
    return 0;
}

int reference_rows(struct arena *arena,
                   const struct reference *reference,
                   const struct template_context *context,
                   size_t *ret_rows,
                   struct str *ret_error)
{
    struct lookup in = {.arena = arena, .reference = reference, .ret_error = ret_error};
    const json_t *value = context->root;
    size_t at = 0;

    TRY(reference_resolve_parts(&in, &at, &value));
    if (!json_is_array(value))
        return lookup_fail_missing(&in, at, 0, value);
    *ret_rows = json_array_size(value);
    return 0;
}

int reference_eval(struct arena *arena,
                   const struct reference *reference,
                   const struct template_context *context,
                   json_t **ret_value,
                   struct str *ret_error)
{
    size_t left = TEMPLATE_MAX_ITEMS;

    return reference_find(arena, reference, context, &left, ret_value, ret_error);
}
