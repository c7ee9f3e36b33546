#pragma once
/* How often each value of a field stands among the hits, under the rules of the caller. */
#include "areas/search/search.h"

struct search_facets;

/* any: the facets that were asked for, none counted; arena-owned. */
struct search_facets *search_facets_new(struct search_plan *plan, struct str names);
/* any: the fields with commas between; refuses those that no target has for the caller. Before
 * anything is searched. */
int search_facets_check(struct search_plan *plan, struct str names) MUSTCHECK;
/* co: adds those of a target, among pick's records. */
AWAITS int search_facets_count(struct search_facets *facets,
                               struct search_target *target,
                               const struct records_pick *pick) MUSTCHECK;
/* any: whether they were counted among all hits. */
void search_facets_end(struct search_facets *facets, bool exact);
/* any: members of the answer. */
void search_facets_write(const struct search_facets *facets, struct jw *w);
