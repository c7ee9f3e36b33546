#pragma once
/*
 * JSON writer: appends to a strbuf and sets the commas, without building a tree. Unbalanced calls
 * panic in debug builds. Texts must be valid UTF-8 (they come from validated input or PostgreSQL).
 * Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/strbuf.h"

struct json_t;

struct jw {
    struct strbuf *out; /* borrowed */
    bool comma;         /* a comma is due before the next value or key */
    bool value_due;     /* a key was written */
    int depth;
    uint64_t objects[4]; /* one bit per open scope: 1 = object, 0 = array */
};

/* Starts a new value in `out`, which is borrowed. `out->overflow` is the only error. */
void jw_init(struct jw *w, struct strbuf *out);
/* Whether exactly one whole value was written and fitted the buffer. */
bool jw_is_complete(const struct jw *w);
/* jw_obj() and jw_arr() open an object or array, jw_obj_end() and jw_arr_end() close it. */
void jw_obj(struct jw *w);
void jw_obj_end(struct jw *w);
void jw_arr(struct jw *w);
void jw_arr_end(struct jw *w);
/* jw_key() writes a key with escapes. jw_lit() writes a key that needs no escapes, such as a C
 * literal. A value must follow. */
void jw_key(struct jw *w, struct str key);
void jw_lit(struct jw *w, const char *key);
/* Writes a string. */
void jw_str(struct jw *w, struct str text);
/* Writes a string in parts, each escaped as jw_str() does, so that the caller can yield to other
 * tasks while it writes megabytes. */
void jw_str_begin(struct jw *w);
void jw_str_part(struct jw *w, struct str text);
void jw_str_end(struct jw *w);
/* Number of bytes that jw_str() writes for `text`, without the quotes. */
size_t jw_str_bytes(struct str text);
void jw_str_or_null(struct jw *w, struct str text); /* an empty text becomes null */
void jw_cstr(struct jw *w, const char *text);       /* NULL becomes null */
/* Write a number, a boolean or null. */
void jw_i64(struct jw *w, int64_t value);
void jw_f64(struct jw *w, double value); /* infinities and NaN become null */
void jw_bool(struct jw *w, bool value);
void jw_null(struct jw *w);
/* Writes a text that already is JSON. */
void jw_raw(struct jw *w, struct str json);
/* Writes a jansson tree (borrowed), with keys in insertion order. */
void jw_json(struct jw *w, const struct json_t *value);
/* Writes a time as an RFC 3339 string in UTC with milliseconds. `wall_ms`: since 1970. */
void jw_time(struct jw *w, int64_t wall_ms);

/* Each writes a key, which needs no escapes, and its value. */
#define JW_STR(w, key, text)         (jw_lit((w), (key)), jw_str((w), (text)))
#define JW_STR_OR_NULL(w, key, text) (jw_lit((w), (key)), jw_str_or_null((w), (text)))
#define JW_CSTR(w, key, text)        (jw_lit((w), (key)), jw_cstr((w), (text)))
#define JW_I64(w, key, value)        (jw_lit((w), (key)), jw_i64((w), (value)))
#define JW_BOOL(w, key, value)       (jw_lit((w), (key)), jw_bool((w), (value)))
#define JW_NULL(w, key)              (jw_lit((w), (key)), jw_null((w)))
