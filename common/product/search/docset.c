#include "search/docset_private.h"

#include "base/panic.h"
#include "search/bits_private.h"

struct docset_window window_over(int64_t lo, int64_t hi)
{
    int64_t first = lo / 64 * 64;

    return (struct docset_window){first, ((size_t)(hi - first) / 64 + 1) * 64};
}

uint64_t *docset_new(struct arena *arena, const struct docset_window *window)
{
    uint64_t *set = NULL;

    return ARENA_ARRAY(arena, set, window_words(window));
}

int docset_leaf(uint64_t *set, const struct docset_window *window, const struct leaf *leaf)
{
    return leaf_mark(leaf, set, window->lo, window->span);
}

void docset_ids(uint64_t *set, const struct docset_window *window, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t position = (uint64_t)ids[i] - (uint64_t)window->lo;
        if (position < window->span)
            set[position / 64] |= UINT64_C(1) << position % 64;
    }
}

void docset_all(uint64_t *set, const struct docset_window *window)
{
    memset(set, 0xFF, window_words(window) * sizeof(*set));
}

void docset_clear(uint64_t *set, const struct docset_window *window)
{
    memset(set, 0, window_words(window) * sizeof(*set));
}

void docset_remove_below(uint64_t *set, const struct docset_window *window, int64_t from)
{
    if (from <= window->lo)
        return;
    uint64_t position = (uint64_t)(from - window->lo);
    size_t words = position < window->span ? position / 64 : window_words(window);
    memset(set, 0, words * sizeof(*set));
    if (words < window_words(window))
        set[words] &= ~UINT64_C(0) << position % 64;
}

bool docset_has(const uint64_t *set, const struct docset_window *window, int64_t id)
{
    uint64_t position = (uint64_t)id - (uint64_t)window->lo;

    return position < window->span && (set[position / 64] >> position % 64 & 1);
}

void docset_and(uint64_t *set, const uint64_t *other, const struct docset_window *window)
{
    for (size_t i = 0; i < window_words(window); i++)
        set[i] &= other[i];
}

void docset_and_not(uint64_t *set, const uint64_t *other, const struct docset_window *window)
{
    for (size_t i = 0; i < window_words(window); i++)
        set[i] &= ~other[i];
}

/* A full adder for 64 places at once: adds three bits of the same weight. Returns the bit of that
 * weight; *ret_carry is the bit of twice the weight. */
static inline uint64_t full_add(uint64_t a, uint64_t b, uint64_t c, uint64_t *ret_carry)
{
    uint64_t sum = a ^ b;

    *ret_carry = (a & b) | (sum & c);
    return sum ^ c;
}

/* Adds up eight words before it counts bits, because the processor may have no instruction that
 * counts them. */
COUNTS_BITS size_t docset_count(const uint64_t *set, const struct docset_window *window)
{
    size_t words = window_words(window);
    size_t count = 0;
    size_t i = 0;

    for (; i + 8 <= words; i += 8) {
        uint64_t twos[4];
        uint64_t fours[2];
        uint64_t eights;
        uint64_t ones = full_add(set[i], set[i + 1], set[i + 2], &twos[0]);
        ones = full_add(ones, set[i + 3], set[i + 4], &twos[1]);
        ones = full_add(ones, set[i + 5], set[i + 6], &twos[2]);
        twos[3] = ones & set[i + 7];
        ones ^= set[i + 7];
        twos[0] = full_add(twos[0], twos[1], twos[2], &fours[0]);
        fours[1] = twos[0] & twos[3];
        twos[0] ^= twos[3];
        eights = fours[0] & fours[1];
        fours[0] ^= fours[1];
        if (ones | twos[0] | fours[0] | eights)
            count += (size_t)__builtin_popcountll(ones) +
                     2 * (size_t)__builtin_popcountll(twos[0]) +
                     4 * (size_t)__builtin_popcountll(fours[0]) +
                     8 * (size_t)__builtin_popcountll(eights);
    }
    for (; i < words; i++)
        count += (size_t)__builtin_popcountll(set[i]);
    return count;
}

bool docset_empty(const uint64_t *set, const struct docset_window *window)
{
    for (size_t i = 0; i < window_words(window); i++)
        if (set[i])
            return false;
    return true;
}
