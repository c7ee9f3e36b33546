#pragma once
/* Up to how many entries of posting lists one search reads the lists whole. Of longer lists the
 * newest records are read first. */
#include <stdint.h>

/* any: Set and return the approximate number of entries of posting lists that are read whole. Set
 * it only once, at start. */
void search_bounds_set(int64_t postings);
int64_t search_bounds_postings(void);
/* any: Returns how many ids the first window spans, if the lists are longer. */
int64_t search_bounds_window(void);
