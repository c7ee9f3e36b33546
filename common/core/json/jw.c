/* JSON writer. It runs for every response, so clean text is scanned eight bytes at a time. */
#include "json/jw.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "json/jr.h"

/* Bits in jw.objects. The reader allows 64 levels; a tree built in memory may be deeper. */
#define MAX_DEPTH 256

/* 0: the byte is copied; 'u': it becomes \u00XX; else: it becomes a backslash and that letter. */
static const char escapes[256] = {
    ['\b'] = 'b',  ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"',
    ['\\'] = '\\', [0x00] = 'u', [0x01] = 'u', [0x02] = 'u', [0x03] = 'u', [0x04] = 'u',
    [0x05] = 'u',  [0x06] = 'u', [0x07] = 'u', [0x0b] = 'u', [0x0e] = 'u', [0x0f] = 'u',
    [0x10] = 'u',  [0x11] = 'u', [0x12] = 'u', [0x13] = 'u', [0x14] = 'u', [0x15] = 'u',
    [0x16] = 'u',  [0x17] = 'u', [0x18] = 'u', [0x19] = 'u', [0x1a] = 'u', [0x1b] = 'u',
    [0x1c] = 'u',  [0x1d] = 'u', [0x1e] = 'u', [0x1f] = 'u',
};

/* --- balance: debug builds refuse text that would not be JSON --- */

#ifdef GW_DEBUG
static bool in_object(const struct jw *w)
{
    int top = w->depth - 1;
    return top >= 0 && (w->objects[top / 64] >> (top % 64) & 1) != 0;
}

static void jw_check_value(const struct jw *w)
{
    if (in_object(w) && !w->value_due)
        PANIC("json: value without a key");
    if (w->depth == 0 && w->comma)
        PANIC("json: second value at top level");
}

static void check_key(const struct jw *w)
{
    if (!in_object(w) || w->value_due)
        PANIC("json: key outside an object or after a key");
}

static void check_end(const struct jw *w, bool object)
{
    if (w->depth <= 0 || w->value_due || in_object(w) != object)
        PANIC("json: unbalanced end of %s", object ? "object" : "array");
}
#else
#define jw_check_value(w)    ((void)(w))
#define check_key(w)         ((void)(w))
#define check_end(w, object) ((void)(w), (void)(object))
#endif

/* --- parts --- */

/* Reserves `bytes` and room for a comma, and writes the comma if it is due. Returns where to write
 * the bytes, or NULL when the buffer is full. */
static char *jw_begin(struct jw *w, size_t bytes)
{
    struct strbuf *out = w->out;
    if (!strbuf_reserve(out, bytes + 1))
        return NULL;
    if (w->comma)
        out->ptr[out->len++] = ',';
    return out->ptr + out->len;
}

static char *begin_value(struct jw *w, size_t bytes)
{
    jw_check_value(w);
    char *to = jw_begin(w, bytes);
    w->comma = true;
    w->value_due = false;
    return to;
}

static void put_literal(struct jw *w, const char *text, size_t len)
{
    char *to = begin_value(w, len);
    if (to == NULL)
        return;
    memcpy(to, text, len);
    w->out->len += len;
}

/* Length of the leading part of the text that needs no escaping. */
static size_t unescaped_length(const char *text, size_t len)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t highs = 0x8080808080808080u;
    size_t at = 0;
    while (len - at >= 8) {
        uint64_t chunk;
        memcpy(&chunk, text + at, sizeof(chunk));
        uint64_t quote = chunk ^ (ones * '"');
        uint64_t slash = chunk ^ (ones * '\\');
        /* A high bit is set where a byte is below 0x20, or is zero in `quote` or `slash`. */
        uint64_t found = ((chunk - ones * 0x20) & ~chunk) | ((quote - ones) & ~quote) |
                         ((slash - ones) & ~slash);
        if ((found & highs) != 0)
            break;
        at += 8;
    }
    while (at < len && escapes[(unsigned char)text[at]] == 0)
        at++;
    return at;
}

size_t jw_str_bytes(struct str text)
{
    size_t bytes = text.len;

    for (;;) {
        size_t run = unescaped_length(text.ptr, text.len);
        if (run == text.len)
            return bytes;
        bytes += escapes[(unsigned char)text.ptr[run]] == 'u' ? 5 : 1;
        text = (struct str){text.ptr + run + 1, text.len - run - 1};
    }
}

static size_t jw_put_escape(char *to, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    to[0] = '\\';
    to[1] = escapes[c];
    if (to[1] != 'u')
        return 2;
    to[2] = '0';
    to[3] = '0';
    to[4] = hex[c >> 4];
    to[5] = hex[c & 15];
    return 6;
}

/* Appends the escaped text. The caller has reserved text.len bytes and one for the closing quote;
 * each escape reserves what it adds. */
static void put_escaped(struct strbuf *out, struct str text)
{
    while (text.len > 0) {
        size_t run = unescaped_length(text.ptr, text.len);
        memcpy(out->ptr + out->len, text.ptr, run);
        out->len += run;
        text.ptr += run;
        text.len -= run;
        if (text.len == 0)
            return;
        /* Reserve 6 bytes for this escape, and again the rest of the text and the closing quote. */
        if (!strbuf_reserve(out, 6 + text.len))
            return;
        out->len += jw_put_escape(out->ptr + out->len, (unsigned char)*text.ptr);
        text.ptr++;
        text.len--;
    }
}

/* Like put_escaped(), in quotes. The caller has reserved text.len + 2 bytes. */
static void jw_put_quoted(struct strbuf *out, struct str text)
{
    out->ptr[out->len++] = '"';
    put_escaped(out, text);
    if (!out->overflow)
        out->ptr[out->len++] = '"';
}

static void jw_open_scope(struct jw *w, char c, bool object)
{
    put_literal(w, &c, 1);
    MUST(w->depth < MAX_DEPTH);
    uint64_t bit = (uint64_t)1 << (w->depth % 64);
    if (object)
        w->objects[w->depth / 64] |= bit;
    else
        w->objects[w->depth / 64] &= ~bit;
    w->depth++;
    w->comma = false;
}

static void close_scope(struct jw *w, char c, bool object)
{
    check_end(w, object);
    w->depth--;
    w->comma = true;
    strbuf_char(w->out, c);
}

/* --- interface --- */

void jw_init(struct jw *w, struct strbuf *out)
{
    *w = (struct jw){.out = out};
}

bool jw_is_complete(const struct jw *w)
{
    return w->depth == 0 && w->comma && !w->out->overflow;
}

void jw_obj(struct jw *w)
{
    jw_open_scope(w, '{', true);
}

void jw_obj_end(struct jw *w)
{
    close_scope(w, '}', true);
}

void jw_arr(struct jw *w)
{
    jw_open_scope(w, '[', false);
}

void jw_arr_end(struct jw *w)
{
    close_scope(w, ']', false);
}

void jw_key(struct jw *w, struct str key)
{
    check_key(w);
    if (jw_begin(w, key.len + 3) != NULL) {
        jw_put_quoted(w->out, key);
        strbuf_char(w->out, ':');
    }
    w->comma = false;
    w->value_due = true;
}

void jw_lit(struct jw *w, const char *key)
{
    check_key(w);
    struct str name = str_from(key);
    char *to = jw_begin(w, name.len + 3);
    if (to != NULL) {
        to[0] = '"';
        memcpy(to + 1, name.ptr, name.len);
        to[name.len + 1] = '"';
        to[name.len + 2] = ':';
        w->out->len += name.len + 3;
    }
    w->comma = false;
    w->value_due = true;
}

void jw_str(struct jw *w, struct str text)
{
    if (begin_value(w, text.len + 2) != NULL)
        jw_put_quoted(w->out, text);
}

void jw_str_begin(struct jw *w)
{
    put_literal(w, "\"", 1);
}

void jw_str_part(struct jw *w, struct str text)
{
    if (strbuf_reserve(w->out, text.len + 1))
        put_escaped(w->out, text);
}

void jw_str_end(struct jw *w)
{
    strbuf_char(w->out, '"');
}

void jw_str_or_null(struct jw *w, struct str text)
{
    if (text.len)
        jw_str(w, text);
    else
        jw_null(w);
}

void jw_cstr(struct jw *w, const char *text)
{
    if (text == NULL)
        jw_null(w);
    else
        jw_str(w, str_from(text));
}

void jw_i64(struct jw *w, int64_t value)
{
    char *to = begin_value(w, 20);
    if (to != NULL)
        w->out->len += num_print_i64(to, value);
}

void jw_f64(struct jw *w, double value)
{
    if (!isfinite(value)) {
        jw_null(w);
        return;
    }
    char *to = begin_value(w, 32);
    if (to != NULL)
        w->out->len += num_print_f64(to, value);
}

void jw_bool(struct jw *w, bool value)
{
    if (value)
        put_literal(w, "true", 4);
    else
        put_literal(w, "false", 5);
}

void jw_null(struct jw *w)
{
    put_literal(w, "null", 4);
}

void jw_raw(struct jw *w, struct str json)
{
    put_literal(w, json.ptr, json.len);
}

void jw_time(struct jw *w, int64_t wall_ms)
{
    char text[CLOCK_TEXT_BYTES];
    jw_str(w, str_from(clock_format(text, wall_ms)));
}

/* NOLINTBEGIN(misc-no-recursion): at most MAX_DEPTH deep */
static void jw_write_object(struct jw *w, json_t *object)
{
    jw_obj(w);
    for (void *it = json_object_iter(object); it != NULL; it = json_object_iter_next(object, it)) {
        jw_key(w, (struct str){json_object_iter_key(it), json_object_iter_key_len(it)});
        jw_json(w, json_object_iter_value(it));
    }
    jw_obj_end(w);
}

void jw_json(struct jw *w, const struct json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        jw_write_object(w, (json_t *)value); /* iterating needs a mutable type, changes nothing */
        break;
    case JSON_ARRAY:
        jw_arr(w);
        for (size_t i = 0; i < json_array_size(value); i++)
            jw_json(w, json_array_get(value, i));
        jw_arr_end(w);
        break;
    case JSON_STRING:
        jw_str(w, (struct str){json_string_value(value), json_string_length(value)});
        break;
    case JSON_INTEGER:
        jw_i64(w, json_integer_value(value));
        break;
    case JSON_REAL:
        if (jr_literal(value).ptr != NULL)
            jw_raw(w, jr_literal(value));
        else
            jw_f64(w, json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        jw_bool(w, json_typeof(value) == JSON_TRUE);
        break;
    case JSON_NULL:
        jw_null(w);
        break;
    }
}
/* NOLINTEND(misc-no-recursion) */
