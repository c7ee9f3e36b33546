/* One pass over the text with a stack of open scopes. A bit set holds the wanted paths whose keys
 * have matched so far. */
#include "json/skim.h"

#include <string.h>

#include "base/ascii.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "json/jr.h"

#define SAFE_NUMBER_LEN 15 /* characters: an integer up to this length always fits an int64 */

struct skim_scope {
    bool object;
    uint32_t open_paths; /* wanted paths that may continue in this scope */
    uint32_t seen_paths; /* wanted keys already met in this scope, to detect duplicates */
};

struct skim_reader {
    struct arena *arena;
    const char *at, *end;
    struct skim_item *items;
    size_t count;
    struct str keys[SKIM_PATHS_MAX][SKIM_DEPTH_MAX];
    size_t lengths[SKIM_PATHS_MAX];
    struct skim_scope scopes[JR_MAX_DEPTH + 1]; /* [0] contains the root value */
    size_t depth;
    uint32_t open_paths; /* wanted paths that match the next value */
    const char *reason;
};

static bool skim_refuse(struct skim_reader *r, const char *reason)
{
    r->reason = reason;
    return false;
}

static void skip_space(struct skim_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

static bool skim_accept(struct skim_reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* --- strings --- */

static bool read_unit(struct skim_reader *r, unsigned *ret_unit)
{
    unsigned unit = 0;

    if (r->end - r->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int digit = ascii_hex(*r->at++);
        if (digit < 0)
            return false;
        unit = unit << 4 | (unsigned)digit;
    }
    *ret_unit = unit;
    return true;
}

/* Reads one code point after "\u"; a surrogate pair consists of two escapes. */
static bool read_escape_u(struct skim_reader *r, unsigned *ret_point)
{
    unsigned high;
    unsigned low;

    if (!read_unit(r, &high))
        return false;
    if (high < 0xd800 || high > 0xdfff) {
        *ret_point = high;
        return high != 0;
    }
    if (high > 0xdbff || !skim_accept(r, '\\') || !skim_accept(r, 'u') || !read_unit(r, &low) ||
        low < 0xdc00 || low > 0xdfff)
        return false;
    *ret_point = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static void put_point(struct strbuf *out, unsigned point)
{
    if (point < 0x80) {
        strbuf_char(out, (char)point);
        return;
    }
    if (point < 0x800) {
        strbuf_char(out, (char)(0xc0U | point >> 6));
    } else {
        if (point < 0x10000) {
            strbuf_char(out, (char)(0xe0U | point >> 12));
        } else {
            strbuf_char(out, (char)(0xf0U | point >> 18));
            strbuf_char(out, (char)(0x80U | (point >> 12 & 0x3fU)));
        }
        strbuf_char(out, (char)(0x80U | (point >> 6 & 0x3fU)));
    }
    strbuf_char(out, (char)(0x80U | (point & 0x3fU)));
}

/* Reads an escape after its backslash. `out` NULL: only checks the escape. */
static bool read_escape(struct skim_reader *r, struct strbuf *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    unsigned point;

    if (r->at == r->end)
        return false;
    char c = *r->at++;
    const char *found = memchr(from, c, sizeof(from) - 1);
    if (found != NULL)
        point = (unsigned char)to[found - from];
    else if (c != 'u' || !read_escape_u(r, &point))
        return false;
    if (out != NULL)
        put_point(out, point);
    return true;
}

/* Reads a string after its opening quote. *ret_raw is the text between the quotes. */
static bool read_string(struct skim_reader *r, struct str *ret_raw, bool *ret_escaped)
{
    const char *from = r->at;

    *ret_escaped = false;
    while (r->at < r->end) {
        char c = *r->at++;
        if (c == '"') {
            *ret_raw = (struct str){from, (size_t)(r->at - 1 - from)};
            return true;
        }
        if ((unsigned char)c < 0x20)
            return skim_refuse(r, "control character in a string");
        if (c == '\\') {
            *ret_escaped = true;
            if (!read_escape(r, NULL))
                return skim_refuse(r, "invalid escape in a string");
        }
    }
    return skim_refuse(r, "unexpected end of text");
}

/* Resolves the escapes of a string that read_string() has accepted. */
static struct str string_decode(struct skim_reader *r, struct str raw)
{
    struct skim_reader again = {.at = raw.ptr, .end = raw.ptr + raw.len};
    struct strbuf out;

    strbuf_init(&out, r->arena, raw.len + 1);
    while (again.at < again.end) {
        char c = *again.at++;
        if (c == '\\')
            (void)read_escape(&again, &out);
        else
            strbuf_char(&out, c);
    }
    return out.len > 0 ? strbuf_view(&out) : STR("");
}

/* --- numbers --- */

static size_t skim_skip_digits(struct skim_reader *r)
{
    size_t count = ascii_span((struct str){r->at, (size_t)(r->end - r->at)}, ASCII_DIGIT);

    r->at += count;
    return count;
}

static bool skim_read_number(struct skim_reader *r, struct str *ret_text)
{
    const char *from = r->at;
    bool integer = true;
    int64_t whole;
    double real;

    (void)skim_accept(r, '-');
    const char *digits = r->at;
    if (skim_skip_digits(r) == 0 || (*digits == '0' && r->at - digits > 1))
        return skim_refuse(r, "invalid syntax");
    if (skim_accept(r, '.')) {
        integer = false;
        if (skim_skip_digits(r) == 0)
            return skim_refuse(r, "invalid syntax");
    }
    if (skim_accept(r, 'e') || skim_accept(r, 'E')) {
        integer = false;
        (void)(skim_accept(r, '+') || skim_accept(r, '-'));
        if (skim_skip_digits(r) == 0)
            return skim_refuse(r, "invalid syntax");
    }
    *ret_text = (struct str){from, (size_t)(r->at - from)};
    if (ret_text->len <= SAFE_NUMBER_LEN && integer)
        return true;
    if (integer ? !num_parse_i64(*ret_text, &whole) : !num_parse_f64(*ret_text, &real))
        return skim_refuse(r, "number is out of range");
    return true;
}

/* --- wanted paths --- */

static void split_paths(struct skim_reader *r)
{
    MUST(r->count <= SKIM_PATHS_MAX);
    for (size_t i = 0; i < r->count; i++) {
        struct str rest = str_from(r->items[i].path);
        while (rest.ptr != NULL) {
            MUST(r->lengths[i] < SKIM_DEPTH_MAX);
            r->keys[i][r->lengths[i]++] = str_split(&rest, '.');
        }
        r->items[i].kind = SKIM_MISSING;
        r->items[i].text = STR_NONE;
    }
}

/* Sets r->open_paths to the paths of the current scope that continue with this key. */
static bool match_key(struct skim_reader *r, struct str raw, bool escaped)
{
    struct skim_scope *scope = &r->scopes[r->depth];
    size_t level = r->depth - 1; /* index into keys: members of a root object have level 0 */

    r->open_paths = 0;
    if (scope->open_paths == 0)
        return true;
    struct str key = escaped ? string_decode(r, raw) : raw;
    for (size_t i = 0; i < r->count; i++) {
        if (!(scope->open_paths >> i & 1U) || !str_eq(r->keys[i][level], key))
            continue;
        if (scope->seen_paths >> i & 1U)
            return skim_refuse(r, "duplicate object key");
        r->open_paths |= 1U << i;
    }
    scope->seen_paths |= r->open_paths;
    return true;
}

/* Stores the value in the items whose path ends here. */
static void
skim_store_value(struct skim_reader *r, enum skim_kind kind, struct str text, bool escaped)
{
    for (size_t i = 0; r->open_paths != 0 && i < r->count; i++) {
        if (!(r->open_paths >> i & 1U) || r->lengths[i] != r->depth)
            continue;
        r->items[i].kind = kind;
        r->items[i].text = escaped ? string_decode(r, text) : text;
    }
}

static bool skim_open_scope(struct skim_reader *r, bool object)
{
    uint32_t deeper = 0;

    skim_store_value(r, SKIM_OTHER, STR_NONE, false);
    for (size_t i = 0; object && i < r->count; i++) {
        if ((r->open_paths >> i & 1U) && r->lengths[i] > r->depth)
            deeper |= 1U << i;
    }
    if (r->depth == JR_MAX_DEPTH)
        return skim_refuse(r, "nested deeper than 64 levels");
    r->scopes[++r->depth] = (struct skim_scope){.object = object, .open_paths = deeper};
    return true;
}

/* --- values --- */

static bool read_word(struct skim_reader *r)
{
    static const struct str words[] = {STR_INIT("true"), STR_INIT("false"), STR_INIT("null")};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!str_starts((struct str){r->at, (size_t)(r->end - r->at)}, words[i]))
            continue;
        r->at += words[i].len;
        skim_store_value(r, SKIM_OTHER, STR_NONE, false);
        return true;
    }
    return skim_refuse(r, "invalid syntax");
}

static bool read_scalar(struct skim_reader *r)
{
    struct str text;
    bool escaped;

    if (skim_accept(r, '"')) {
        if (!read_string(r, &text, &escaped))
            return false;
        skim_store_value(r, SKIM_STRING, text, escaped);
        return true;
    }
    if (*r->at != '-' && !ascii_is(*r->at, ASCII_DIGIT))
        return read_word(r);
    if (!skim_read_number(r, &text))
        return false;
    skim_store_value(r, SKIM_NUMBER, text, false);
    return true;
}

static bool skim_read_key(struct skim_reader *r)
{
    struct str raw;
    bool escaped;

    skip_space(r);
    if (!skim_accept(r, '"'))
        return skim_refuse(r, "expected a key or \"}\"");
    if (!read_string(r, &raw, &escaped) || !match_key(r, raw, escaped))
        return false;
    skip_space(r);
    return skim_accept(r, ':') || skim_refuse(r, "expected \":\"");
}

/* After "{" or "[": closes an empty scope, else moves to the first value. */
static bool skim_enter(struct skim_reader *r, bool *ret_closed)
{
    const struct skim_scope *scope = &r->scopes[r->depth];

    skip_space(r);
    *ret_closed = skim_accept(r, scope->object ? '}' : ']');
    if (*ret_closed) {
        r->depth--;
        return true;
    }
    r->open_paths = 0;
    return !scope->object || skim_read_key(r);
}

/* After a value: closes the scopes that end here. *ret_more is false when the root has ended. */
static bool skim_leave(struct skim_reader *r, bool *ret_more)
{
    *ret_more = false;
    while (r->depth > 0) {
        const struct skim_scope *scope = &r->scopes[r->depth];
        skip_space(r);
        if (skim_accept(r, ',')) {
            *ret_more = true;
            r->open_paths = 0;
            return !scope->object || skim_read_key(r);
        }
        if (!skim_accept(r, scope->object ? '}' : ']'))
            return skim_refuse(
                r, scope->object ? "expected \",\" or \"}\"" : "expected \",\" or \"]\"");
        r->depth--;
    }
    return true;
}

static bool skim_read_text(struct skim_reader *r)
{
    bool more = true;

    while (more) {
        bool closed = true;
        skip_space(r);
        if (r->at == r->end)
            return skim_refuse(r, "unexpected end of text");
        if (*r->at == '{' || *r->at == '[') {
            if (!skim_open_scope(r, *r->at++ == '{') || !skim_enter(r, &closed))
                return false;
        } else if (!read_scalar(r)) {
            return false;
        }
        if (closed && !skim_leave(r, &more))
            return false;
    }
    skip_space(r);
    return r->at == r->end || skim_refuse(r, "unexpected text after the value");
}

int skim_parse(struct arena *arena,
               struct str text,
               struct skim_item *items,
               size_t count,
               const char **ret_reason)
{
    struct skim_reader reader = {
        .arena = arena,
        .at = text.ptr,
        .end = text.ptr + text.len,
        .items = items,
        .count = count,
        .open_paths = (1U << count) - 1,
    };

    split_paths(&reader);
    if (!utf8_valid(text)) {
        *ret_reason = "invalid UTF-8";
        return SKIM_INVALID;
    }
    if (skim_read_text(&reader))
        return 0;
    *ret_reason = reader.reason;
    return SKIM_INVALID;
}
