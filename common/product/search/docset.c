#include "search/docset.h"

#include "base/panic.h"

struct window window_over(int64_t lo, int64_t hi)
{
    int64_t first = lo / 64 * 64;

    return (struct window){first, ((size_t)(hi - first) / 64 + 1) * 64};
}

uint64_t *docset_new(struct arena *arena, const struct window *window)
{
    uint64_t *set = NULL;

    return ARENA_ARRAY(arena, set, window_words(window));
}

int docset_leaf(uint64_t *set, const struct window *window, const struct leaf *leaf)
{
    return leaf_mark(leaf, set, window->lo, window->span);
}

void docset_ids(uint64_t *set, const struct window *window, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t place = (uint64_t)ids[i] - (uint64_t)window->lo;
        if (place < window->span)
            set[place / 64] |= UINT64_C(1) << place % 64;
    }
}

void docset_all(uint64_t *set, const struct window *window)
{
    memset(set, 0xFF, window_words(window) * sizeof(*set));
}

void docset_clear(uint64_t *set, const struct window *window)
{
    memset(set, 0, window_words(window) * sizeof(*set));
}

void docset_cut(uint64_t *set, const struct window *window, int64_t from)
{
    if (from <= window->lo)
        return;
    uint64_t place = (uint64_t)(from - window->lo);
    size_t words = place < window->span ? place / 64 : window_words(window);
    memset(set, 0, words * sizeof(*set));
    if (words < window_words(window))
        set[words] &= ~UINT64_C(0) << place % 64;
}

bool docset_has(const uint64_t *set, const struct window *window, int64_t id)
{
    uint64_t place = (uint64_t)id - (uint64_t)window->lo;

    return place < window->span && (set[place / 64] >> place % 64 & 1);
}

void docset_and(uint64_t *set, const uint64_t *other, const struct window *window)
{
    for (size_t i = 0; i < window_words(window); i++)
        set[i] &= other[i];
}

void docset_or(uint64_t *set, const uint64_t *other, const struct window *window)
{
    for (size_t i = 0; i < window_words(window); i++)
        set[i] |= other[i];
}

void docset_and_not(uint64_t *set, const uint64_t *other, const struct window *window)
{
    for (size_t i = 0; i < window_words(window); i++)
        set[i] &= ~other[i];
}

size_t docset_count(const uint64_t *set, const struct window *window)
{
    size_t count = 0;

    for (size_t i = 0; i < window_words(window); i++)
        count += (size_t)__builtin_popcountll(set[i]);
    return count;
}

bool docset_empty(const uint64_t *set, const struct window *window)
{
    for (size_t i = 0; i < window_words(window); i++)
        if (set[i])
            return false;
    return true;
}

size_t docset_newest(const uint64_t *set, const struct window *window, int64_t *ids, size_t max)
{
    size_t count = 0;

    for (size_t i = window_words(window); i-- > 0 && count < max;)
        for (uint64_t word = set[i]; word && count < max;) {
            int bit = 63 - __builtin_clzll(word);
            word ^= UINT64_C(1) << bit;
            ids[count++] = window->lo + (int64_t)(i * 64) + bit;
        }
    return count;
}
