#pragma once
/*
 * Sets of ids inside a window [lo, lo + span), as bits. A window is what is decided at once: 64 ids
 * a word and 32 KB for the usual 262,144. What lies outside is left out, so that the leaf that
 * straddles a window's border needs no care. Pure; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/leaf.h"

struct docset_window {
    int64_t lo;  /* of 64 */
    size_t span; /* of 64 */
};

/* The window that holds all from lo to hi, both included. */
struct docset_window window_over(int64_t lo, int64_t hi);
static inline size_t window_words(const struct docset_window *window)
{
    return window->span / 64;
}

/* An empty set, arena-owned. */
uint64_t *docset_new(struct arena *arena, const struct docset_window *window);
/* Puts in the ids of a leaf; LEAF_BAD, and then some may be in. */
int docset_leaf(uint64_t *set, const struct docset_window *window, const struct leaf *leaf)
    MUSTCHECK;
/* Puts in ids, in any order. */
void docset_ids(uint64_t *set,
                const struct docset_window *window,
                const int64_t *ids,
                size_t count);
void docset_all(uint64_t *set, const struct docset_window *window);
void docset_clear(uint64_t *set, const struct docset_window *window);
/* Leaves those from an id on. */
void docset_cut(uint64_t *set, const struct docset_window *window, int64_t from);
bool docset_has(const uint64_t *set, const struct docset_window *window, int64_t id);
/* set &= other, &= ~other. */
void docset_and(uint64_t *set, const uint64_t *other, const struct docset_window *window);
void docset_and_not(uint64_t *set, const uint64_t *other, const struct docset_window *window);
size_t docset_count(const uint64_t *set, const struct docset_window *window);
bool docset_empty(const uint64_t *set, const struct docset_window *window);
