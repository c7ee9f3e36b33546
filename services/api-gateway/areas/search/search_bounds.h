#pragma once
/* Up to how many entries of posting lists one search reads the lists whole. Of longer lists the
 * newest records are read first. */
#include <stdint.h>

/* any: Returns the approximate number of entries of posting lists that are read whole. */
int64_t search_bounds_postings(void);
/* any: Returns how many ids the first window spans, if the lists are longer. */
int64_t search_bounds_window(void);
