#pragma once
/*
 * Strict JSON reader over jansson. Refuses, before or while parsing, what the service never
 * accepts: nesting deeper than 64, duplicate keys, U+0000, invalid UTF-8, BOM, lone surrogates,
 * integers outside int64, numbers that are not finite doubles or that jsonb cannot hold, and text
 * after the value (RFC 8259). PostgreSQL can store everything that the reader accepts.
 */
#include <jansson.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

#define JR_MAX_DEPTH 64

struct jr_error {
    char text[160]; /* "line 3, column 7: duplicate object key" */
    bool range;     /* a number is out of range; then `at` is set */
    size_t at;      /* the number is at or before this byte */
};

/* Parses `text`. The root may be any JSON value and is owned by the arena. Returns 0, or JR_INVALID
 * with *ret_error set. */
int jr_parse(struct arena *arena, struct str text, json_t **ret_root, struct jr_error *ret_error)
    MUSTCHECK;
/* Like jr_parse(), but also accepts integers outside int64 and reads them as reals. For records,
 * and for jsonb that PostgreSQL printed: PostgreSQL writes 1e20 as digits. */
int jr_parse_stored(struct arena *arena,
                    struct str text,
                    json_t **ret_root,
                    struct jr_error *ret_error) MUSTCHECK;
/* Like jr_parse_stored(), for a text that a third-party server wrote. Skips a byte order mark at
 * the beginning. A number that a double or jsonb cannot hold (1e400, 1e-20000, more than 512 bytes)
 * becomes a string of its characters. */
int jr_parse_external(struct arena *arena,
                      struct str text,
                      json_t **ret_root,
                      struct jr_error *ret_error) MUSTCHECK;
/* any: Returns an upper bound in bytes of the memory that the parsed tree of `text` would take,
 * computed from the brackets, commas and strings in `text`, which need not be JSON. The tree can be
 * far larger than the text: a value of two bytes may become an object of three hundred. Counting
 * stops where nesting exceeds JR_MAX_DEPTH, because such a text is refused. */
size_t jr_tree_bytes(struct str text);
/* Returns a real as it was written in the JSON text, when that differs from the shortest text of
 * its double (99999999999999.99, 1e2, 1.50), else STR_NONE. Borrowed from the value. jw_json() and
 * jr_print() write the literal. */
struct str jr_literal(const json_t *value);
/* Returns a number as exact text: its literal, or printed into `buf` of 32 bytes. STR_NONE when
 * `value` is not a number. */
struct str jr_number(const json_t *value, char *buf);
/* Returns the path of the value at byte `at` of a JSON text ("items[3].price"), arena-owned. Empty
 * for the root, and when the path is too long to be shown. */
struct str jr_path(struct arena *arena, struct str text, size_t at);
/* any: Passes the caller's reference to the arena, which drops the reference when the arena is
 * reset or freed. Returns `value`. Use jr_attach_large() for trees that may be large. */
json_t *jr_attach(struct arena *arena, json_t *value);
/* Returns a new reference to a JSON string that jsonb can hold: U+0000 and invalid UTF-8 become
 * U+FFFD. */
json_t *jr_text(struct str text) MUSTCHECK;
/* jr_str(), jr_i64() and jr_bool() return a member of an object. When the member is missing or of
 * another type, they return STR_NONE or `fallback`. Texts are borrowed from the object. */
struct str jr_str(const json_t *object, const char *key);
int64_t jr_i64(const json_t *object, const char *key, int64_t fallback);
bool jr_bool(const json_t *object, const char *key, bool fallback);
/* Prints compactly into the arena. */
struct str jr_print(struct arena *arena, const json_t *value);
/* Like jr_print(), but at most `most` bytes. Returns false when the text is longer; *ret_text is
 * then its beginning. */
bool jr_print_within(struct arena *arena, const json_t *value, size_t most, struct str *ret_text);
