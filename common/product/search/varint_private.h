#pragma once
/* Whole numbers in as few bytes as possible (LEB128): seven bits per byte, lowest first, with the
 * highest bit set in all bytes but the last. Only the shortest form is read. Pure; any thread. */
#include <stddef.h>
#include <stdint.h>

enum { VARINT_BYTES = 10 };

static inline size_t varint_bytes(uint64_t value)
{
    return value < 0x80 ? 1 : (size_t)(70 - __builtin_clzll(value)) / 7;
}
/* Writes at most VARINT_BYTES. Returns the end. */
unsigned char *varint_put(unsigned char *at, uint64_t value);
/* Returns the end; NULL: the number does not end, is above INT64_MAX, or is longer than necessary.
 */
const unsigned char *
varint_get(const unsigned char *at, const unsigned char *end, uint64_t *ret_value);
