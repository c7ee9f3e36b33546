#include "search/rank.h"

#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "search/rank_private.h"

/*
 * Windows and hits. rank_run() goes through windows of ids from the highest down;
 * rank_highest_below() skips ids that cannot match. rank_levels.c evaluates each window, and
 * hits_merge() merges its best hits with the best of the windows before.
 */

struct rank *rank_new(struct arena *arena, unsigned words, size_t limit)
{
    struct rank *rank = ARENA_NEW(arena, rank);

    MUST(words <= RANK_WORDS);
    rank->arena = arena;
    rank->words = words;
    rank->limit = limit;
    return rank;
}

static void rank_add_list(struct rank *rank, const struct rank_list *list)
{
    const struct rank_source *from = &list->from;

    switch (from->use) {
    case RANK_WORD: {
        MUST(from->number < rank->words && from->part < RANK_GROUPS);
        MUST(from->cost <= RANK_COST && from->field <= RANK_FIELD);
        struct rank_word *word = &rank->word[from->number];
        word->parts = from->part >= word->parts ? from->part + 1 : word->parts;
        ARENA_PUSH(rank->arena, word->lists, word->count, word->cap, *list);
        break;
    }
    case RANK_NEED: {
        MUST(from->number < RANK_GROUPS);
        struct rank_group *group = &rank->need[from->number];
        rank->groups = from->number >= rank->groups ? from->number + 1 : rank->groups;
        ARENA_PUSH(rank->arena, group->lists, group->count, group->cap, *list);
        break;
    }
    case RANK_COUNTED: {
        MUST(from->number < RANK_COUNTED_GROUPS);
        struct rank_group *group = &rank->counted[from->number];
        rank->group_counts =
            from->number >= rank->group_counts ? from->number + 1 : rank->group_counts;
        ARENA_PUSH(rank->arena, group->lists, group->count, group->cap, *list);
        break;
    }
    case RANK_NOT:
        ARENA_PUSH(
            rank->arena, rank->excluded.lists, rank->excluded.count, rank->excluded.cap, *list);
        break;
    }
}

void rank_leaves(struct rank *rank,
                 struct rank_source from,
                 const struct leaf *leaves,
                 size_t count)
{
    rank_add_list(rank, &(struct rank_list){.from = from, .leaves = leaves, .count = count});
}

void rank_ids(struct rank *rank, struct rank_source from, const int64_t *ids, size_t count)
{
    static const int64_t none = 0;

    rank_add_list(rank,
                  &(struct rank_list){.from = from, .ids = ids ? ids : &none, .count = count});
}

static int level_order(const void *left, const void *right)
{
    const struct rank_source *a = &((const struct rank_list *)left)->from;
    const struct rank_source *b = &((const struct rank_list *)right)->from;

    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    return a->field < b->field ? -1 : a->field > b->field;
}

/* --- windows ---------------------------------------------------------------------------------- */

/* The highest id below `below` that a list may have; -1: none. Not exact where a leaf begins in the
 * next window: reading the leaf would not save a window. */
static int list_highest_below(const struct rank *rank,
                              const struct rank_list *list,
                              int64_t below,
                              int64_t *ret_top)
{
    int64_t near = below - (int64_t)rank->window.span;

    *ret_top = -1;
    if (list->ids) {
        for (size_t low = 0, high = list->count; low < high;) {
            size_t middle = low + (high - low) / 2;
            if (list->ids[middle] < below) {
                *ret_top = list->ids[middle];
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return 0;
    }
    size_t low = 0;
    for (size_t high = list->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (list->leaves[middle].base < below)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i-- > 0 && *ret_top < 0;) {
        if (list->leaves[i].base > near && below != INT64_MAX)
            *ret_top = below - 1;
        else
            TRY(leaf_below(&list->leaves[i], below, ret_top));
    }
    return 0;
}

static int lists_highest_below(const struct rank *rank,
                               const struct rank_list *lists,
                               size_t count,
                               int64_t below,
                               int64_t *ret_top)
{
    *ret_top = -1;
    for (size_t i = 0; i < count && *ret_top != below - 1; i++) {
        int64_t top;
        TRY(list_highest_below(rank, &lists[i], below, &top));
        *ret_top = top > *ret_top ? top : *ret_top;
    }
    return 0;
}

/* The highest id below `below` that can match: the first word and every group must have it. Without
 * words and groups, one group of RANK_COUNTED must have it. */
static int rank_highest_below(const struct rank *rank, int64_t below, int64_t *ret_top)
{
    int64_t least = -1;

    if (rank->words > 0)
        TRY(lists_highest_below(rank, rank->word[0].lists, rank->word[0].count, below, &least));
    for (unsigned g = 0; g < rank->groups; g++) {
        int64_t top;
        TRY(lists_highest_below(rank, rank->need[g].lists, rank->need[g].count, below, &top));
        least = (rank->words == 0 && g == 0) || top < least ? top : least;
    }
    for (unsigned t = 0; t < rank->group_counts && rank->words == 0 && rank->groups == 0; t++) {
        int64_t top;
        TRY(lists_highest_below(rank, rank->counted[t].lists, rank->counted[t].count, below, &top));
        least = top > least ? top : least;
    }
    *ret_top = least;
    return 0;
}

/* --- hits ------------------------------------------------------------------------------------- */

/* Whether hit a comes before hit b. Among equals b comes first: it is from a newer window. */
static bool is_better(const struct rank_hit *a, const struct rank_hit *b)
{
    if (a->matched != b->matched)
        return a->matched > b->matched;
    if (a->cost != b->cost)
        return a->cost < b->cost;
    return a->field < b->field;
}

/* The first hit that is worse than the best fresh hit. The hits before it stay where they are. */
static size_t hits_find_worse(const struct rank *rank)
{
    size_t low = 0;

    for (size_t high = rank->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (is_better(&rank->fresh[0], &rank->hits[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void hits_merge(struct rank *rank, size_t fresh)
{
    if (fresh == 0)
        return;
    size_t first = hits_find_worse(rank);
    size_t count = first;
    size_t old = first;
    size_t new = 0;

    while (count < rank->limit && (old < rank->count || new < fresh)) {
        bool is_new =
            old == rank->count || (new < fresh &&is_better(&rank->fresh[new], &rank->hits[old]));
        rank->merged[count++] = is_new ? rank->fresh[new ++] : rank->hits[old++];
    }
    if (count > first)
        memcpy(rank->hits + first, rank->merged + first, (count - first) * sizeof(*rank->hits));
    rank->count = count;
}

/* The lowest cost and field that the lists allow: the sums over the best list of each word that is
 * not empty. */
static struct rank_hit rank_best_level(const struct rank *rank)
{
    struct rank_hit best = {.matched = (uint8_t)rank->words};

    for (unsigned w = 0; w < rank->words; w++) {
        const struct rank_word *word = &rank->word[w];
        size_t first = 0;
        while (first < word->count && word->lists[first].count == 0)
            first++;
        if (first == word->count)
            continue;
        best.cost = (uint8_t)(best.cost + word->lists[first].from.cost);
        best.field = (uint16_t)(best.field + word->lists[first].from.field);
    }
    return best;
}

static bool is_filled(const struct rank *rank, const struct rank_hit *best)
{
    return rank->count == rank->limit &&
           (rank->limit == 0 || !is_better(best, &rank->hits[rank->limit - 1]));
}

static void rank_prepare(struct rank *rank, size_t span)
{
    for (unsigned w = 0; w < rank->words; w++)
        if (rank->word[w].count > 0)
            qsort(rank->word[w].lists,
                  rank->word[w].count,
                  sizeof(*rank->word[w].lists),
                  level_order);
    rank->hits = ARENA_ARRAY(rank->arena, rank->hits, rank->limit);
    rank->fresh = ARENA_ARRAY(rank->arena, rank->fresh, rank->limit);
    rank->merged = ARENA_ARRAY(rank->arena, rank->merged, rank->limit);
    rank->counts = ARENA_ARRAY(rank->arena, rank->counts, rank->group_counts);
    rank_levels_init(rank, span);
}

/* The window of up to `span` ids that ends with `top`. */
static struct docset_window window_below(int64_t top, size_t span)
{
    int64_t end = (top | 63) + 1;
    int64_t lo = end > (int64_t)span ? end - (int64_t)span : 0;

    return (struct docset_window){lo, (size_t)(end - lo)};
}

static int
rank_run_window(struct rank *rank, unsigned least, int64_t from, struct rank_result *result)
{
    TRY(rank_levels_match(rank));
    if (from > rank->window.lo)
        for (unsigned m = 0; m <= rank->words; m++)
            docset_remove_below(rank->matched[m], &rank->window, from);
    size_t total = docset_count(rank->matched[least], &rank->window);
    if (total == 0)
        return 0;
    TRY(rank_levels_count(rank));
    if (rank->words == 0 && rank->groups == 0)
        return 0;
    result->total += total;
    result->total_all +=
        least == rank->words ? total : docset_count(rank->matched[rank->words], &rank->window);
    const struct rank_hit *worst =
        rank->count == rank->limit && rank->limit > 0 ? &rank->hits[rank->limit - 1] : NULL;
    hits_merge(rank, rank_levels_best(rank, least, worst));
    return 0;
}

/* The width of the next window: narrow where matches are rare and wide where they are frequent, so
 * that the work is proportional to the matches. */
static size_t rank_next_span(const struct rank *rank, size_t pass, size_t span)
{
    size_t found = docset_count(rank->matched[rank->words > 0], &rank->window);

    if (found * 4096 < rank->window.span)
        return pass / 8 / 64 > 0 ? pass / 8 / 64 * 64 : 64;
    return found * 64 > rank->window.span && pass * 8 <= span ? pass * 8 : pass;
}

int rank_run(struct rank *rank, const struct rank_bounds *bounds, struct rank_result *ret_result)
{
    unsigned least =
        bounds->min_words == 0 || bounds->min_words > rank->words ? rank->words : bounds->min_words;
    size_t span = bounds->span ? (bounds->span + 63) / 64 * 64 : RANK_SPAN;
    struct rank_result result = {0};
    int64_t top;

    rank->window.span = span;
    TRY(rank_highest_below(rank, INT64_MAX, &top));
    int64_t wide = top - bounds->from;
    if (wide < (int64_t)span) /* no wider than the ids that there are */
        span = wide < 0 ? 64 : window_over(bounds->from, top).span;
    rank_prepare(rank, span);
    struct rank_hit best = rank_best_level(rank);
    size_t pass = span;
    while (top >= bounds->from && top >= 0) {
        rank->window = window_below(top, pass);
        TRY(rank_run_window(rank, least, bounds->from, &result));
        int64_t lo = rank->window.lo;
        if (bounds->stop_when_filled && is_filled(rank, &best) && lo > 0) {
            result.from = lo;
            break;
        }
        pass = rank_next_span(rank, pass, span);
        TRY(rank_highest_below(rank, lo, &top));
    }
    if (bounds->from > result.from)
        result.from = bounds->from;
    result.hits = rank->hits;
    result.group_counts = rank->counts;
    result.filled = is_filled(rank, &best);
    result.count = rank->count;
    *ret_result = result;
    return 0;
}
