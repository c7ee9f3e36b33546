#pragma once
/* Posting lists that were read, and sets of terms whose lists are needed. Shared by search_lists.c,
 * search_plain.c, search_rank.c and search_window.c. */
#include "areas/search/search.h"
#include "search/leaf.h"

/* The posting list of a term in a field: its leaves, ascending by base. */
struct search_list {
    int64_t term, field;
    struct leaf *leaves;
    size_t count;
};

struct search_lists {
    struct search_list *items;
    size_t count, cap;
    size_t bytes;
    int64_t lowest_id;       /* ids below were not read */
    bool has_first_terms;    /* the lists of terms with `is_fallback` false were read */
    bool has_fallback_terms; /* the lists of terms with `is_fallback` true were read */
};

/* Terms whose lists have to be read. */
struct search_needed {
    struct arena *arena;
    const struct search_lists *known_lists; /* terms with lists here are not added; may be NULL */
    int64_t *ids;
    size_t count, cap;
    int64_t postings; /* approximate number of entries */
};

/* any: Adds all terms that the search needs of a target and whose `is_fallback` equals `late`. */
void search_want_all(struct search_needed *wanted,
                     const struct search_plan *plan,
                     const struct search_target *target,
                     bool late);
/* any: Adds the terms whose `is_fallback` equals `late` and that have no lists in
 * wanted->known_lists. */
void search_want_terms(struct search_needed *wanted, const struct search_terms *terms, bool late);
/* any: Returns the numbers of the fields whose lists are read: the target's fields and
 * PRINCIPAL_FIELD. Arena-owned. */
struct sql_i64s search_postings_fields(struct arena *arena, const struct search_target *target);
/* co: Adds the lists of the wanted terms to target->lists. Returns 0, a status, or -ESTALE if the
 * target's index is no longer live. */
AWAITS int search_read_lists(struct search_plan *plan,
                             struct search_target *target,
                             const struct search_needed *wanted) MUSTCHECK;
/* any: Adds a leaf, which is borrowed. The leaves of a list have to be added one after the other
 * and be adjacent in memory. */
void search_add_leaf(struct arena *arena,
                     struct search_lists *lists,
                     int64_t term,
                     int64_t field,
                     struct leaf *leaf);
/* any: Sorts the lists. Call after the last leaf was added and before search_list_find(). */
void search_sort_lists(struct search_lists *lists);
/* any: Returns the list of a term in a field, NULL if none was read. */
const struct search_list *
search_list_find(const struct search_lists *lists, int64_t term, int64_t field);
/* any: Returns whether the word is searched in the field: in all fields unless the word names one.
 */
bool search_word_has_field(const struct search_word *word, const struct search_field *field);
