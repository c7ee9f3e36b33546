/* The bounds of what one search reads of the index. */
#include "areas/search/search_bounds.h"

/* 600 leaves of some 1,200 entries each cost about as much as the round trip of a window. */
static int64_t whole = 700000;

void search_bounds_set(int64_t postings)
{
    whole = postings;
}

int64_t search_bounds_postings(void)
{
    return whole;
}

int64_t search_bounds_window(void)
{
    return whole * 3 / 8;
}
