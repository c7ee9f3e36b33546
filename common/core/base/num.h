#pragma once
/* Exact number parsing and printing; no locale, no allocation, any thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Parses a text that is a decimal integer without '+', spaces and leading zeros. Returns false, and
 * writes nothing, when the text is anything else or out of range. */
bool num_parse_i64(struct str text, int64_t *ret_value);
/* Parses a text that is a JSON number (RFC 8259 section 6) of at most 512 bytes and finite as a
 * double. Returns false, and writes nothing, for any other text. */
bool num_parse_f64(struct str text, double *ret_value);
/* Writes at most 20 bytes without a NUL and returns their number. */
size_t num_print_i64(char *buf, int64_t value);
/* Writes the shortest JSON number that reads back as the same double: at most 32 bytes, without a
 * NUL. Infinities and NaN, which JSON does not have, become "null". Returns the number of bytes. */
size_t num_print_f64(char *buf, double value);
/* Parses a JSON number whose value is whole in any notation: 7.0, 1e2, 9223372036854775807.0.
 * Returns false when the value is not whole or out of range. `text` must be a JSON number. */
bool num_parse_whole(struct str text, int64_t *ret_value);
/* Compares two int64_t, for qsort() and bsearch(). */
int num_compare_i64(const void *left, const void *right);
/* Sorts the numbers and removes duplicates. Returns how many numbers remain. */
size_t num_sort_unique(int64_t *numbers, size_t count);
/* Compares two JSON numbers exactly, by their digits. Returns a value below 0, 0 or above 0 when
 * `left` is less than, equal to or greater than `right`. */
int num_compare(struct str left, struct str right);
/* Returns whether the whole text is a JSON number, of any size and length. */
bool num_is_json(struct str text);
