#include "base/panic.h"
#include "search/rank_private.h"

/*
 * One window of a query, as sets of ids. rank_levels_match() narrows matched[] word by word and
 * adds up the cost and the field of each id. These sums are stored as one set per binary digit and
 * added like in hardware, 64 ids at a time. rank_levels_best() finds the ids with the lowest sums
 * digit by digit.
 */

/* Bits that a number needs. */
static unsigned bits_for(unsigned number)
{
    return number ? 32 - (unsigned)__builtin_clz(number) : 0;
}

static void sums_init(struct rank *rank, struct rank_sums *sums, unsigned most)
{
    sums->count = bits_for(most);
    MUST(sums->count <= ARRAY_LEN(sums->bits));
    for (unsigned i = 0; i < sums->count; i++)
        sums->bits[i] = docset_new(rank->arena, &rank->window);
}

void rank_levels_init(struct rank *rank, size_t span)
{
    unsigned cost = 0;
    unsigned field = 0;
    unsigned parts = 1;

    rank->window = (struct docset_window){0, span};
    for (unsigned w = 0; w < rank->words; w++) {
        const struct rank_word *word = &rank->word[w];
        unsigned most_cost = 0;
        unsigned most_field = 0;
        for (size_t i = 0; i < word->count; i++) {
            const struct rank_source *from = &word->lists[i].from;
            most_cost = from->cost > most_cost ? from->cost : most_cost;
            most_field = from->field > most_field ? from->field : most_field;
        }
        cost += most_cost;
        field += most_field;
        parts = word->parts > parts ? word->parts : parts;
    }
    for (unsigned w = 0; w <= rank->words; w++)
        rank->matched[w] = docset_new(rank->arena, &rank->window);
    for (unsigned p = 0; p < parts; p++)
        rank->parts[p] = docset_new(rank->arena, &rank->window);
    rank->scratch = docset_new(rank->arena, &rank->window);
    sums_init(rank, &rank->cost, cost);
    sums_init(rank, &rank->field, field);
}

/* --- one window ------------------------------------------------------------------------------- */

/* The first leaf of a list whose base is above `id`. */
static size_t leaves_find_above(const struct rank_list *list, int64_t id)
{
    size_t low = 0;
    size_t high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->leaves[middle].base > id)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static size_t ids_find_from(const struct rank_list *list, int64_t id)
{
    size_t low = 0;
    size_t high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->ids[middle] >= id)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Adds the ids that a list has in the window to a set. */
static int mark_list(const struct rank *rank, const struct rank_list *list, uint64_t *set)
{
    int64_t hi = rank->window.lo + (int64_t)(rank->window.span - 1);

    if (list->ids) {
        size_t first = ids_find_from(list, rank->window.lo);
        size_t end = ids_find_from(list, hi);
        end += end < list->count && list->ids[end] == hi;
        docset_ids(set, &rank->window, list->ids + first, end - first);
        return 0;
    }
    for (size_t i = leaves_find_above(list, hi); i-- > 0;) {
        TRY(docset_leaf(set, &rank->window, &list->leaves[i]));
        if (list->leaves[i].base <= rank->window.lo)
            break;
    }
    return 0;
}

/* Adds `number` to the sums of the given ids in word i. */
static inline void sums_add(struct rank_sums *sums, unsigned number, uint64_t ids, size_t i)
{
    for (unsigned bit = 0; number >> bit; bit++) {
        if (!(number >> bit & 1))
            continue;
        uint64_t carry = ids;
        for (unsigned at = bit; carry; at++) {
            uint64_t both = sums->bits[at][i] & carry;
            sums->bits[at][i] ^= carry;
            carry = both;
        }
    }
}

/* The ids in word i that match by part 0, or by all other parts, of the lists marked so far. */
static inline uint64_t ids_of_parts(const struct rank *rank, const struct rank_word *word, size_t i)
{
    uint64_t all = word->parts > 1 ? rank->parts[1][i] : 0;

    for (unsigned p = 2; p < word->parts && all; p++)
        all &= rank->parts[p][i];
    return all | rank->parts[0][i];
}

/* Adds the ids that match with the cost and the field of `level`, and did not match with better
 * ones. */
static void match_level(struct rank *rank, unsigned number, const struct rank_source *level)
{
    const uint64_t *before = rank->matched[number];
    uint64_t *after = rank->matched[number + 1];

    for (size_t i = 0; i < window_words(&rank->window); i++) {
        uint64_t ids = before[i] & ~after[i];
        if (ids == 0 || (ids &= ids_of_parts(rank, &rank->word[number], i)) == 0)
            continue;
        after[i] |= ids;
        sums_add(&rank->cost, level->cost, ids, i);
        sums_add(&rank->field, level->field, ids, i);
    }
}

/* Narrows the matches of the previous words to those that this word matches too, and adds how well.
 */
static int match_word(struct rank *rank, unsigned number)
{
    const struct rank_word *word = &rank->word[number];

    docset_clear(rank->matched[number + 1], &rank->window);
    for (unsigned p = 0; p < word->parts; p++)
        docset_clear(rank->parts[p], &rank->window);
    for (size_t i = 0; i < word->count;) {
        struct rank_source level = word->lists[i].from;
        for (; i < word->count && word->lists[i].from.cost == level.cost &&
               word->lists[i].from.field == level.field;
             i++)
            TRY(mark_list(rank, &word->lists[i], rank->parts[word->lists[i].from.part]));
        match_level(rank, number, &level);
    }
    return 0;
}

static int match_group(struct rank *rank, const struct rank_group *group, uint64_t *set)
{
    docset_clear(set, &rank->window);
    for (size_t i = 0; i < group->count; i++)
        TRY(mark_list(rank, &group->lists[i], set));
    return 0;
}

int rank_levels_match(struct rank *rank)
{
    docset_all(rank->matched[0], &rank->window);
    for (unsigned g = 0; g < rank->groups; g++) {
        TRY(match_group(rank, &rank->need[g], rank->scratch));
        docset_and(rank->matched[0], rank->scratch, &rank->window);
    }
    if (rank->excluded.count > 0) {
        TRY(match_group(rank, &rank->excluded, rank->scratch));
        docset_and_not(rank->matched[0], rank->scratch, &rank->window);
    }
    for (unsigned i = 0; i < rank->cost.count; i++)
        docset_clear(rank->cost.bits[i], &rank->window);
    for (unsigned i = 0; i < rank->field.count; i++)
        docset_clear(rank->field.bits[i], &rank->window);
    for (unsigned w = 0; w < rank->words; w++) {
        if (docset_empty(rank->matched[w], &rank->window))
            docset_clear(rank->matched[w + 1], &rank->window);
        else
            TRY(match_word(rank, w));
    }
    return 0;
}

int rank_levels_count(struct rank *rank)
{
    const uint64_t *matched = rank->matched[rank->words];

    for (unsigned t = 0; t < rank->group_counts; t++) {
        TRY(match_group(rank, &rank->counted[t], rank->scratch));
        docset_and(rank->scratch, matched, &rank->window);
        rank->counts[t] += docset_count(rank->scratch, &rank->window);
    }
    return 0;
}

/* --- the best hits ---------------------------------------------------------------------------- */

/* The digit of the sums that is decided at a depth: costs before fields, from the highest digit on.
 */
static const uint64_t *digit_set(const struct rank *rank, unsigned depth)
{
    if (depth < rank->cost.count)
        return rank->cost.bits[rank->cost.count - 1 - depth];
    return rank->field.bits[rank->field.count - 1 - (depth - rank->cost.count)];
}

/* The ids of `among` in word i whose sums begin with `number` in their first `depth` digits. */
static uint64_t
ids_with_number(const struct rank *rank, uint64_t among, unsigned depth, unsigned number, size_t i)
{
    for (unsigned d = 0; d < depth && among; d++) {
        uint64_t bits = digit_set(rank, d)[i];
        among &= number >> (depth - 1 - d) & 1 ? bits : ~bits;
    }
    return among;
}

/* Stores the ids with exactly this number, newest first. Returns the new count. */
static size_t hits_append(struct rank *rank,
                          const uint64_t *among,
                          unsigned depth,
                          unsigned number,
                          unsigned matched,
                          size_t count)
{
    struct rank_hit hit = {
        .matched = (uint8_t)matched,
        .cost = (uint8_t)(number >> rank->field.count),
        .field = (uint16_t)(number & ((1u << rank->field.count) - 1)),
    };

    for (size_t i = window_words(&rank->window); i-- > 0 && count < rank->limit;)
        for (uint64_t word = ids_with_number(rank, among[i], depth, number, i);
             word && count < rank->limit;) {
            int bit = 63 - __builtin_clzll(word);
            word ^= UINT64_C(1) << bit;
            hit.id = rank->window.lo + (int64_t)(i * 64) + bit;
            rank->fresh[count++] = hit;
        }
    return count;
}

static bool
has_ids_with_number(const struct rank *rank, const uint64_t *among, unsigned depth, unsigned number)
{
    for (size_t i = 0; i < window_words(&rank->window); i++)
        if (among[i] && ids_with_number(rank, among[i], depth, number, i))
            return true;
    return false;
}

/* Whether no hit with `matched` words and the sums `number` is better than `worst`. */
static bool is_not_better(const struct rank *rank,
                          unsigned matched,
                          unsigned number,
                          const struct rank_hit *worst)
{
    if (!worst || matched != worst->matched)
        return worst && matched < worst->matched;
    return number >= ((unsigned)worst->cost << rank->field.count | worst->field);
}

/* Visits the numbers that occur in a set in ascending order, digit by digit from the highest. */
static size_t best_in_set(struct rank *rank,
                          const uint64_t *among,
                          unsigned matched,
                          const struct rank_hit *worst,
                          size_t count)
{
    unsigned depth = rank->cost.count + rank->field.count;
    unsigned number = 0; /* its first `at` digits are decided */
    unsigned at = 0;

    for (;;) {
        if (is_not_better(
                rank, matched, number << (depth - at), worst)) /* and all further numbers */
            return count;
        bool any = has_ids_with_number(rank, among, at, number);
        if (any && at < depth) {
            number <<= 1;
            at++;
            continue;
        }
        if (any) {
            count = hits_append(rank, among, depth, number, matched, count);
            if (count == rank->limit)
                return count;
        }
        while (at > 0 && (number & 1)) { /* both values of this digit have been visited */
            number >>= 1;
            at--;
        }
        if (at == 0)
            return count;
        number |= 1;
    }
}

size_t rank_levels_best(struct rank *rank, unsigned least, const struct rank_hit *worst)
{
    size_t count = 0;

    for (unsigned m = rank->words + 1; m-- > least && count < rank->limit;) {
        if (worst && m < worst->matched)
            break;
        memcpy(rank->scratch, rank->matched[m], window_words(&rank->window) * sizeof(uint64_t));
        if (m < rank->words)
            docset_and_not(rank->scratch, rank->matched[m + 1], &rank->window);
        count = best_in_set(rank, rank->scratch, m, worst, count);
    }
    return count;
}
