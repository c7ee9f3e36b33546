#pragma once
/* Randomness from the kernel (getrandom). Any thread; failure panics. */
#include <stddef.h>
#include <stdint.h>

void rand_bytes(void *ret_buf, size_t bytes);
uint64_t rand_u64(void);
/* Sortable unique id, 26 characters of Crockford base32 (ULID: 48 bits of ms, 80 random) + NUL. */
void rand_ulid(char ret_text[27]);
