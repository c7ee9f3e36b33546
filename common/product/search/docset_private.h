#pragma once
/*
 * Sets of record ids inside a window [lo, lo + span), as bits.
 *
 * rank.c evaluates a query window by window, 64 ids per machine word. The usual window of 262,144
 * ids takes 32 KB. Ids outside of the window are ignored, so a leaf that crosses the border of a
 * window needs no special care. Pure; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/leaf.h"

struct docset_window {
    int64_t lo;  /* a multiple of 64 */
    size_t span; /* a multiple of 64 */
};

/* The window that holds all ids from lo to hi, both included. window_words(): its size in words of
 * 64 ids. */
struct docset_window window_over(int64_t lo, int64_t hi);
static inline size_t window_words(const struct docset_window *window)
{
    return window->span / 64;
}

/* An empty set, arena-owned. */
uint64_t *docset_new(struct arena *arena, const struct docset_window *window);
/* Adds the ids of a leaf. LEAF_BAD: the leaf is malformed, and some of its ids may have been added.
 */
int docset_leaf(uint64_t *set, const struct docset_window *window, const struct leaf *leaf)
    MUSTCHECK;
/* docset_ids() adds ids in any order, docset_all() all ids of the window. docset_clear() empties
 * the set. */
void docset_ids(uint64_t *set,
                const struct docset_window *window,
                const int64_t *ids,
                size_t count);
void docset_all(uint64_t *set, const struct docset_window *window);
void docset_clear(uint64_t *set, const struct docset_window *window);
/* docset_remove_below() removes the ids below `from`. docset_has(): whether an id is in the set. */
void docset_remove_below(uint64_t *set, const struct docset_window *window, int64_t from);
bool docset_has(const uint64_t *set, const struct docset_window *window, int64_t id);
/* docset_and(): set &= other. docset_and_not(): set &= ~other. */
void docset_and(uint64_t *set, const uint64_t *other, const struct docset_window *window);
void docset_and_not(uint64_t *set, const uint64_t *other, const struct docset_window *window);
size_t docset_count(const uint64_t *set, const struct docset_window *window);
bool docset_empty(const uint64_t *set, const struct docset_window *window);
