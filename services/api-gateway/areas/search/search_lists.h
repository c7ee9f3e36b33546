#pragma once
/* Lists that were read of the index, and sets of terms whose lists are wanted: what search_lists.c,
 * search_plain.c, search_rank.c and search_window.c share. */
#include "areas/search/search.h"
#include "search/leaf.h"

/* Leaves of (term, field), by both and their base. */
struct search_list {
    int64_t term, field;
    struct leaf *leaves;
    size_t count;
};

struct search_lists {
    struct search_list *items;
    size_t count, cap;
    size_t bytes;
    int64_t from;     /* ids below were not read */
    bool early, late; /* those of terms that were added at first, and later, are there */
};

/* Terms whose lists are to be read. */
struct search_wanted {
    struct arena *arena;
    const struct search_lists *there; /* whose terms are not wanted once more; may be NULL */
    int64_t *ids;
    size_t count, cap;
    int64_t postings; /* about so many */
};

/* any: all that the search needs of a target, of the terms that were added at first or later. */
void search_want_all(struct search_wanted *wanted,
                     const struct search_plan *plan,
                     const struct search_target *target,
                     bool late);
/* any: terms that are none of the query's words. */
void search_want_terms(struct search_wanted *wanted, const struct search_terms *terms, bool late);
/* any: the numbers of the fields whose lists are read: those of the caller, and the principals'. */
struct sql_i64s search_postings_fields(struct arena *arena, const struct search_target *target);
/* co: adds the lists of these terms to target->lists. -ESTALE: there is another index by now. */
AWAITS int search_read_lists(struct search_plan *plan,
                             struct search_target *target,
                             const struct search_wanted *wanted) MUSTCHECK;
/* any: adds a leaf: those of one list one behind the other, also in memory. */
void search_add_leaf(struct arena *arena,
                     struct search_lists *lists,
                     int64_t term,
                     int64_t field,
                     struct leaf *leaf);
/* any: when the last leaf was added, before any list is looked for. */
void search_sort_lists(struct search_lists *lists);
/* any: a list that was read; NULL: there is none. */
const struct search_list *
search_list_find(const struct search_lists *lists, int64_t term, int64_t field);
/* any: whether a word is looked for in a field. */
bool search_is_meant(const struct search_word *word, const struct search_field *field);
