#pragma once
/* Exact number parsing and printing; no locale, no allocation, any thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Whole text must be a decimal integer without '+', spaces or leading zeros; false if not or out of
 * range (nothing written). */
bool num_parse_i64(struct str text, int64_t *ret_value);
/* Whole text must be a JSON-style number (RFC 8259 section 6) that is finite as a double and
 * at most 512 bytes long. */
bool num_parse_f64(struct str text, double *ret_value);
/* Writes at most 20 bytes and no NUL; returns the length. */
size_t num_print_i64(char *buf, int64_t value);
/* Shortest text that reads back as the same double, valid JSON, at most 32 bytes, no NUL.
 * Infinities and NaN, which JSON cannot say, give "null". */
size_t num_print_f64(char *buf, double value);
/* A JSON-style number that is whole, however it is written: 7.0, 1e2, 9223372036854775807.0. False
 * when it is not, or out of range. */
bool num_parse_whole(struct str text, int64_t *ret_value);
/* Of two int64_t, for qsort() and bsearch(). */
int num_order_i64(const void *left, const void *right);
/* Sorts the numbers, and keeps each once: how many are left. */
size_t num_sort_once(int64_t *numbers, size_t count);
/* Below 0, 0 or above 0 as `left` is less than, equal to or greater than `right`: exactly, by their
 * digits. Both must be JSON-style numbers. */
int num_compare(struct str left, struct str right);
/* Whether the whole text is a JSON-style number, however large or long. */
bool num_is_json(struct str text);
