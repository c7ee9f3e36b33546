/* Chooses the terms of a word when the lexicon has more than a search can use. */
#include <stdlib.h>

#include "areas/search/search.h"
#include "areas/search/search_bounds.h"

enum {
    COUNT_FACTOR = 4, /* up to this multiple of the entries that are read whole, all terms are
                          counted at once */
    COUNT_BATCH = 64  /* terms that are counted at once if there are more entries */
};

struct candidate {
    struct search_term term;
    int64_t hits;
};

/* Most hits first, then by text. */
static int candidate_compare_hits(const void *a, const void *b)
{
    const struct candidate *one = a;
    const struct candidate *other = b;

    if (one->hits != other->hits)
        return one->hits > other->hits ? -1 : 1;
    return str_cmp(one->term.text, other->term.text);
}

/* Shortest first, then by text: an order that does not depend on any record. */
static int term_compare_text(const void *a, const void *b)
{
    const struct search_term *one = a;
    const struct search_term *other = b;

    if (one->text.len != other->text.len)
        return one->text.len < other->text.len ? -1 : 1;
    return str_cmp(one->text, other->text);
}

/* Returns the terms by which the caller finds any record, most hits first. */
AWAITS static int count_candidates(struct search_plan *plan,
                                   const struct search_term *terms,
                                   size_t count,
                                   struct candidate **ret_seen,
                                   size_t *ret_count)
{
    struct arena *arena = plan->r->task.arena;
    int64_t *hits = ARENA_ARRAY(arena, hits, count + 1);
    struct candidate *seen = ARENA_ARRAY(arena, seen, count + 1);
    size_t kept_count = 0;

    TRY(search_count_terms(plan, terms, count, hits));
    for (size_t i = 0; i < count; i++)
        if (hits[i] > 0)
            seen[kept_count++] = (struct candidate){terms[i], hits[i]};
    if (kept_count > 0)
        qsort(seen, kept_count, sizeof(*seen), candidate_compare_hits);
    *ret_seen = seen;
    *ret_count = kept_count;
    return 0;
}

/* Returns whether no record belongs to any of the caller's principals, so no query finds any. */
static bool has_no_principal(const struct search_plan *plan)
{
    for (size_t i = 0; i < plan->target_count; i++) {
        const struct search_target *target = &plan->targets[i];
        if (!target->has_row_rule || target->visible_ids != NULL ||
            target->principal_terms.count > 0)
            return false;
    }
    return true;
}

int search_choose_terms(struct search_plan *plan,
                        struct search_terms *terms,
                        size_t kept_count,
                        size_t most)
{
    struct search_term *items = terms->items + kept_count;
    size_t count = terms->count - kept_count;
    int64_t postings = 0;

    if (plan->sees_all || count <= most)
        return 0;
    if (has_no_principal(plan)) {
        terms->count = kept_count;
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        postings += items[i].df;
    qsort(items, count, sizeof(*items), term_compare_text);
    size_t batch = postings <= COUNT_FACTOR * search_bounds_postings() ? count : COUNT_BATCH;
    size_t chosen = 0;
    for (size_t from = 0; from < count && chosen < most && plan->bytes < SEARCH_BYTES;
         from += batch) {
        struct candidate *seen;
        size_t seen_count;
        size_t left = count - from;
        TRY(count_candidates(plan, items + from, left < batch ? left : batch, &seen, &seen_count));
        for (size_t i = 0; i < seen_count && chosen < most; i++)
            items[chosen++] = seen[i].term;
    }
    terms->count = kept_count + chosen;
    return 0;
}
