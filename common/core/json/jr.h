#pragma once
/*
 * Guarded JSON reader over jansson: refuses, before or while parsing, what the service never
 * accepts: depth over 64, duplicate keys, U+0000, invalid UTF-8, BOM, lone surrogates, integers
 * outside int64, numbers that are not finite doubles or that jsonb cannot hold, trailing text (RFC
 * 8259). What it accepts, PostgreSQL stores.
 */
#include <jansson.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

#define JR_MAX_DEPTH 64

struct jr_error {
    char text[160]; /* "line 3, column 7: duplicate object key" */
    bool range;     /* a number is out of range, ... */
    size_t at;      /* ... at or before this byte */
};

/* 0, or JR_INVALID with *ret_error set. The root may be any JSON value; it is owned by the arena.
 */
int jr_parse(struct arena *arena, struct str text, json_t **ret_root, struct jr_error *ret_error)
    MUSTCHECK;
/* The same where numbers of any length are expected: in records, and in jsonb that PostgreSQL
 * printed, which writes 1e20 out as digits. Integers outside int64 are read as reals. */
int jr_parse_stored(struct arena *arena,
                    struct str text,
                    json_t **ret_root,
                    struct jr_error *ret_error) MUSTCHECK;
/* The same of a text that another server wrote: a byte order mark before it is dropped, integers
 * outside int64 are read as jr_parse_stored() reads them, and a number that no double or no jsonb
 * can hold (1e400, 1e-20000, more than 512 bytes) is read as a text of its characters. */
int jr_parse_foreign(struct arena *arena,
                     struct str text,
                     json_t **ret_root,
                     struct jr_error *ret_error) MUSTCHECK;
/* any: at most so many bytes its tree takes, by what a text holds of brackets, commas and strings,
 * whether it is JSON or not: a value of two bytes may become an object of three hundred. What is
 * nested deeper than is read counts up to there: it becomes no tree. */
size_t jr_tree_bytes(struct str text);
/* How a real was written, when the shortest text of its double is another one (99999999999999.99,
 * 1e2, 1.50); STR_NONE otherwise. Borrowed from the value. jw_json() and jr_print() write it. */
struct str jr_literal(const json_t *value);
/* A number as exact text: its literal, or printed into `buf` of 32 bytes; STR_NONE for anything
 * else. */
struct str jr_number(const json_t *value, char *buf);
/* The path of the value that stands at a byte of a text ("items[3].price", empty = the root, or one
 * too long to be shown); arena-owned. */
struct str jr_path(struct arena *arena, struct str text, size_t at);
/* any: returns `value`, whose reference goes with the arena. What may be large: jr_own(). */
json_t *jr_adopt(struct arena *arena, json_t *value);
/* A new reference to a text as jsonb can hold it: U+FFFD for U+0000 and for what is no UTF-8. */
json_t *jr_text(struct str text) MUSTCHECK;
/* Borrowed views of members; STR_NONE / fallback when missing or of another type. */
struct str jr_str(const json_t *object, const char *key);
int64_t jr_i64(const json_t *object, const char *key, int64_t fallback);
bool jr_bool(const json_t *object, const char *key, bool fallback);
/* Prints compactly into the arena. Depth is bounded by jr_parse. */
struct str jr_print(struct arena *arena, const json_t *value);
/* The same, at most `most` bytes; false when it is longer, and then *ret_text is its beginning. */
bool jr_print_within(struct arena *arena, const json_t *value, size_t most, struct str *ret_text);
