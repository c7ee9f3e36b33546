#pragma once
/* How much of the index one search reads before it looks at the newest records first. */
#include <stdint.h>

/* any: once at start: about so many entries of posting lists are read whole. */
void search_bounds_set(int64_t postings);
int64_t search_bounds_postings(void);
/* Ids of the first window, where there are more. */
int64_t search_bounds_window(void);
