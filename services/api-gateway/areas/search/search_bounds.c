/* The bounds of what one search reads of the index. */
#include "areas/search/search_bounds.h"

#include "app.h"

/* 600 leaves of some 1,200 entries each cost about as much as the round trip of a window. */
static int64_t whole = 700000;

static void search_bounds_start(struct directory *directory UNUSED, const struct app_conf *conf)
{
    whole = conf->search_postings;
}

const struct area_life search_bounds_life = {.start = search_bounds_start};

int64_t search_bounds_postings(void)
{
    return whole;
}

int64_t search_bounds_window(void)
{
    return whole * 3 / 8;
}
