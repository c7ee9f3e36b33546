#pragma once
/*
 * JSON writer: appends to a strbuf, commas by itself, no tree. Unbalanced use panics in debug
 * builds. Text must be valid UTF-8 (it comes from validated input or PostgreSQL). Any thread.
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
    uint64_t objects[4]; /* bit per open scope: object or array */
};

void jw_init(struct jw *w, struct strbuf *out);
/* True when exactly one whole value was written and it fitted the buffer. */
bool jw_done(const struct jw *w);
void jw_obj(struct jw *w);
void jw_obj_end(struct jw *w);
void jw_arr(struct jw *w);
void jw_arr_end(struct jw *w);
/* jw_key writes an escaped key; jw_lit a key or text known not to need escaping (literals). */
void jw_key(struct jw *w, struct str key);
void jw_lit(struct jw *w, const char *key);
void jw_str(struct jw *w, struct str text);
/* A text in parts, each as jw_str() writes it: megabytes of it leave time for others. */
void jw_str_begin(struct jw *w);
void jw_str_part(struct jw *w, struct str text);
void jw_str_end(struct jw *w);
/* Bytes that jw_str() writes of it, without the quotes. */
size_t jw_str_bytes(struct str text);
void jw_str_or_null(struct jw *w, struct str text); /* empty writes null */
void jw_cstr(struct jw *w, const char *text);       /* NULL writes null */
void jw_i64(struct jw *w, int64_t value);
void jw_f64(struct jw *w, double value); /* not finite writes null */
void jw_bool(struct jw *w, bool value);
void jw_null(struct jw *w);
/* Text that is JSON already. */
void jw_raw(struct jw *w, struct str json);
/* A jansson tree (borrowed), keys in insertion order. */
void jw_json(struct jw *w, const struct json_t *value);
/* RFC 3339 with milliseconds. */
void jw_time(struct jw *w, int64_t wall_ms);

/* Members in one call each. */
#define JW_STR(w, key, text)         (jw_lit((w), (key)), jw_str((w), (text)))
#define JW_STR_OR_NULL(w, key, text) (jw_lit((w), (key)), jw_str_or_null((w), (text)))
#define JW_CSTR(w, key, text)        (jw_lit((w), (key)), jw_cstr((w), (text)))
#define JW_I64(w, key, value)        (jw_lit((w), (key)), jw_i64((w), (value)))
#define JW_BOOL(w, key, value)       (jw_lit((w), (key)), jw_bool((w), (value)))
#define JW_NULL(w, key)              (jw_lit((w), (key)), jw_null((w)))
