#pragma once
/*
 * Whole numbers in as few bytes as they need: seven bits a byte, lowest first, the highest bit of
 * all but the last set (LEB128). Only the shortest form is read. Pure; any thread.
 */
#include <stddef.h>
#include <stdint.h>

enum { VARINT_BYTES = 10 };

static inline size_t varint_bytes(uint64_t value)
{
    return value < 0x80 ? 1 : (size_t)(70 - __builtin_clzll(value)) / 7;
}
/* Writes at most VARINT_BYTES; the byte behind. */
unsigned char *varint_put(unsigned char *at, uint64_t value);
/* The byte behind; NULL: it does not end, is above INT64_MAX, or is longer than need be. */
const unsigned char *
varint_get(const unsigned char *at, const unsigned char *end, uint64_t *ret_value);
