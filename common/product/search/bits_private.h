#pragma once
/* Bits, counted many at a time. */

/* The function is compiled twice, for processors that count bits at once and for those that do not:
 * which of both runs is chosen when the program starts. Sanitizers begin later than that. */
#if defined(__x86_64__) && !defined(GW_SANITIZE)
#define COUNTS_BITS __attribute__((target_clones("default", "popcnt")))
#else
#define COUNTS_BITS
#endif
