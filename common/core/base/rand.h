#pragma once
/* Randomness from the kernel (getrandom). Any thread; failure panics. */
#include <stddef.h>
#include <stdint.h>

/* Fill a buffer with random bytes, or return 64 random bits; good enough for keys. */
void rand_bytes(void *ret_buf, size_t bytes);
uint64_t rand_u64(void);
/* Writes a unique id that sorts by time, 26 characters of Crockford base32 and a NUL (ULID: 48 bits
 * of wall-clock milliseconds, 80 random bits). An id is not a secret. */
void rand_ulid(char ret_text[27]);
