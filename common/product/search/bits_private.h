#pragma once
/* Counting bits, many at a time. */

/* Compiles a function twice, with and without the processor's instruction that counts bits. The
 * version is chosen when the program starts, before a sanitizer is ready; sanitizer builds
 * therefore have one version. */
#if defined(__x86_64__) && !defined(GW_SANITIZE)
#define COUNTS_BITS __attribute__((target_clones("default", "popcnt")))
#else
#define COUNTS_BITS
#endif
