#pragma once
/* Facets: how many hits have each value of a field, under the caller's rules. */
#include "areas/search/search.h"

struct search_facets;

/* any: Creates the requested facets without values; `names` are fields separated by commas.
 * Arena-owned. */
struct search_facets *search_facets_new(struct search_plan *plan, struct str names);
/* any: Checks the fields in `names` before the search. Returns 0, or 400 for a field that no target
 * has, that the caller may not read or that cannot be counted, and for too many fields. */
int search_facets_check(struct search_plan *plan, struct str names) MUSTCHECK;
/* co: Adds the values of a target's records; `pick` says which records. Returns 0 or the status of
 * the answer. */
AWAITS int search_facets_count(struct search_facets *facets,
                               struct search_target *target,
                               const struct records_pick *pick) MUSTCHECK;
/* any: Sorts the values. `exact`: all hits were counted. */
void search_facets_end(struct search_facets *facets, bool exact);
/* any: Writes the members `facets` and `facets_are_exact` of the answer. */
void search_facets_write(const struct search_facets *facets, struct jw *w);
