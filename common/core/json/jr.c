/* JSON reader: a scan refuses what jansson would accept, then jansson parses with strict flags. */
#include "json/jr.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/json_scan.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "json/jr_number_private.h"
#include "json/jw.h"

#define PRINT_MAX ((size_t)1 << 30) /* far above six times the largest body */

/* --- errors: jansson's messages quote the input, ours never do --- */

static int jr_refuse(struct jr_error *ret_error, size_t line, size_t column, const char *reason)
{
    *ret_error = (struct jr_error){.range = false};
    snprintf(
        ret_error->text, sizeof(ret_error->text), "line %zu, column %zu: %s", line, column, reason);
    return JR_INVALID;
}

/* Like jr_refuse(), but computes line and column of byte `at`; columns count code points. */
static int refuse_at(struct jr_error *ret_error, struct str text, size_t at, const char *reason)
{
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i < at; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '\n') {
            line++;
            column = 1;
        } else if ((c & 0xc0) != 0x80) {
            column++;
        }
    }
    return jr_refuse(ret_error, line, column, reason);
}

/* Our message for each syntax error, found by the beginning of jansson's message. */
static const struct {
    struct str begins;
    const char *reason;
} syntax_reasons[] = {
    {STR_INIT("control character"), "control character in a string"},
    {STR_INIT("unexpected newline"), "line break in a string"},
    {STR_INIT("invalid escape"), "invalid escape in a string"},
    {STR_INIT("invalid Unicode"), "invalid \\u escape in a string"},
    {STR_INIT("string or '}' expected"), "expected a key or \"}\""},
    {STR_INIT("':' expected"), "expected \":\""},
    {STR_INIT("']' expected"), "expected \",\" or \"]\""},
    {STR_INIT("'}' expected"), "expected \",\" or \"}\""},
};

static const char *syntax_reason(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_invalid_utf8:
        return "invalid UTF-8";
    case json_error_premature_end_of_input:
        return "unexpected end of text";
    case json_error_end_of_input_expected:
        return "unexpected text after the value";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "U+0000 is not allowed";
    case json_error_duplicate_key:
        return "duplicate object key";
    case json_error_numeric_overflow:
        return "number is out of range";
    default:
        break;
    }
    struct str text = str_from(error->text);
    for (size_t i = 0; i < ARRAY_LEN(syntax_reasons); i++)
        if (str_starts(text, syntax_reasons[i].begins))
            return syntax_reasons[i].reason;
    return "invalid syntax";
}

/* --- reading --- */

/* Limit of PostgreSQL's numeric for the digits after the decimal point, and for exponents. */
#define NUMBER_DIGITS 16383

static int digit_at(struct str text, size_t at)
{
    return at < text.len && ascii_is(text.ptr[at], ASCII_DIGIT) ? text.ptr[at] - '0' : -1;
}

/* Moves *at from the first byte of a number to its end. Returns false when jsonb cannot hold the
 * number; this includes numbers that a double can hold, such as 0e99999 and 1e-20000. Does not
 * check the grammar, which jansson does. */
static bool number_fits_jsonb(struct str text, size_t *at)
{
    size_t i = *at + 1;
    int fraction = 0;
    int exponent = 0;
    bool below = false;

    while (digit_at(text, i) >= 0)
        i++;
    if (i < text.len && text.ptr[i] == '.')
        for (i++; digit_at(text, i) >= 0; i++)
            fraction += fraction <= NUMBER_DIGITS;
    if (i < text.len && (text.ptr[i] == 'e' || text.ptr[i] == 'E')) {
        i++;
        below = i < text.len && text.ptr[i] == '-';
        if (below || (i < text.len && text.ptr[i] == '+'))
            i++;
        for (; digit_at(text, i) >= 0; i++)
            exponent = exponent > NUMBER_DIGITS ? exponent : exponent * 10 + digit_at(text, i);
    }
    *at = i;
    return fraction + (below ? exponent : 0) <= NUMBER_DIGITS && exponent <= NUMBER_DIGITS;
}

static int refuse_range(struct jr_error *ret_error, struct str text, size_t at)
{
    (void)refuse_at(ret_error, text, at, "number is out of range");
    ret_error->range = true;
    ret_error->at = at;
    return JR_INVALID;
}

/* Runs first: jansson recurses up to 2,048 levels and reports NUL and BOM as other errors. */
static int text_prescan(struct str text, struct jr_error *ret_error)
{
    const char *nul = memchr(text.ptr, '\0', text.len);
    struct str before = {text.ptr, nul != NULL ? (size_t)(nul - text.ptr) : text.len};
    int depth = 0;
    int c;

    if (str_starts(text, STR(UTF8_MARK)))
        return refuse_at(ret_error, text, 0, "byte order mark is not allowed");
    for (size_t at = 0; (c = json_scan(before, &at)) >= 0;) {
        size_t begin = at - 1;
        depth += json_scan_depth(c);
        if (depth > JR_MAX_DEPTH)
            return refuse_at(ret_error, text, begin, "nested deeper than 64 levels");
        if (depth < 0)
            depth = 0;
        if (c != '-' && (c < '0' || c > '9'))
            continue;
        at = begin;
        if (!number_fits_jsonb(before, &at))
            return refuse_range(ret_error, text, begin);
    }
    return nul != NULL ? refuse_at(ret_error, text, before.len, "U+0000 is not allowed") : 0;
}

static void value_unref_deferred(void *value)
{
    json_decref(value);
}

json_t *jr_attach(struct arena *arena, json_t *value)
{
    MUST(value != NULL);
    arena_defer(arena, value_unref_deferred, value);
    return value;
}

/* Parses `text`, which was derived from `original`; numbers keep their literals of `original`. */
static int jr_read_text(struct arena *arena,
                        struct str text,
                        struct str original,
                        json_t **ret_root,
                        struct jr_error *ret_error)
{
    if (text.len == 0)
        return jr_refuse(ret_error, 1, 1, "unexpected end of text");
    int rc = text_prescan(text, ret_error);
    if (rc != 0)
        return rc;
    json_error_t error;
    json_t *root = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (root == NULL) {
        size_t line = error.line > 0 ? (size_t)error.line : 1;
        size_t column = error.column > 0 ? (size_t)error.column : 1;
        (void)jr_refuse(ret_error, line, column, syntax_reason(&error));
        ret_error->range = json_error_code(&error) == json_error_numeric_overflow;
        ret_error->at = error.position > 0 ? (size_t)error.position : 0;
        return JR_INVALID;
    }
    number_attach_literals(&root, original);
    (void)jr_attach(arena, root);
    *ret_root = root;
    return 0;
}

int jr_parse(struct arena *arena, struct str text, json_t **ret_root, struct jr_error *ret_error)
{
    return jr_read_text(arena, text, text, ret_root, ret_error);
}

/* Bytes that jansson allocates for each node, as malloc() rounds them up. */
enum {
    OBJECT_BYTES = 240,
    ARRAY_BYTES = 144,
    MEMBER_BYTES = 96,
    STRING_BYTES = 80,
    ITEM_BYTES = 48,
};

size_t jr_tree_bytes(struct str text)
{
    size_t bytes = text.len + ITEM_BYTES;
    int depth = 0;
    int c;

    for (size_t at = 0; depth <= JR_MAX_DEPTH && (c = json_scan(text, &at)) >= 0;) {
        depth += json_scan_depth(c);
        switch (c) {
        case '{':
            bytes += OBJECT_BYTES;
            break;
        case '[':
            bytes += ARRAY_BYTES;
            break;
        case '"':
            bytes += STRING_BYTES;
            break;
        case ':': /* the string before the colon is a key, stored in its member */
            bytes += MEMBER_BYTES - STRING_BYTES;
            break;
        case ',':
            bytes += ITEM_BYTES;
            break;
        default:
            break;
        }
    }
    return bytes;
}

/* Returns the text with `before` and `after` around every number for which is_of_kind() holds, or
 * `text` itself when there is no such number. */
static struct str numbers_wrap(struct arena *arena,
                               struct str text,
                               bool (*is_of_kind)(struct str number),
                               const char *before,
                               const char *after)
{
    struct strbuf out;
    size_t copied = 0;
    size_t end = 0;

    strbuf_init(&out, arena, PRINT_MAX);
    for (struct str number = number_next(text, &end); number.ptr != NULL;
         number = number_next(text, &end)) {
        if (!is_of_kind(number))
            continue;
        size_t begin = (size_t)(number.ptr - text.ptr);
        strbuf_str(&out, (struct str){text.ptr + copied, begin - copied});
        strbuf_cstr(&out, before);
        strbuf_str(&out, number);
        strbuf_cstr(&out, after);
        copied = end;
    }
    if (copied == 0)
        return text;
    strbuf_str(&out, (struct str){text.ptr + copied, text.len - copied});
    return strbuf_view(&out);
}

static bool is_wide_integer(struct str number)
{
    bool integer;

    (void)number_end(number, 0, &integer);
    return integer && number_is_wide(number);
}

/* Whether the text is a JSON number that at least one of the types double and jsonb cannot hold. */
static bool is_unrepresentable(struct str number)
{
    size_t at = 0;
    double value;

    return num_is_json(number) &&
           !(number_fits_jsonb(number, &at) && num_parse_f64(number, &value));
}

int jr_parse_stored(struct arena *arena,
                    struct str text,
                    json_t **ret_root,
                    struct jr_error *ret_error)
{
    return jr_read_text(
        arena, numbers_wrap(arena, text, is_wide_integer, "", ".0"), text, ret_root, ret_error);
}

int jr_parse_external(struct arena *arena,
                      struct str text,
                      json_t **ret_root,
                      struct jr_error *ret_error)
{
    text = numbers_wrap(arena, utf8_unmarked(text), is_unrepresentable, "\"", "\"");
    return jr_parse_stored(arena, text, ret_root, ret_error);
}

json_t *jr_text(struct str text)
{
    json_t *value = NULL;

    if (text.ptr == NULL)
        return json_string("");
    if (memchr(text.ptr, 0, text.len) == NULL)
        value = json_stringn(text.ptr, text.len);
    if (value != NULL)
        return value;
    struct arena *arena = arena_new(0);
    struct str clean = utf8_clean(arena, text);
    value = json_stringn_nocheck(clean.ptr, clean.len);
    arena_free(arena);
    return value;
}

/* --- access --- */

struct str jr_str(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return STR_NONE;
    return (struct str){json_string_value(value), json_string_length(value)};
}

int64_t jr_i64(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool jr_bool(const json_t *object, const char *key, bool fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

bool jr_print_within(struct arena *arena, const json_t *value, size_t most, struct str *ret_text)
{
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, arena, most);
    jw_init(&w, &out);
    jw_json(&w, value);
    *ret_text = strbuf_view(&out);
    return !out.overflow;
}

struct str jr_print(struct arena *arena, const json_t *value)
{
    struct str text;

    MUST(jr_print_within(arena, value, PRINT_MAX, &text));
    return text;
}
