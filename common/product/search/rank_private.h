#pragma once
/* Shared by rank.c (windows and hits) and rank_levels.c (the sets and sums of one window). */
#include "search/docset_private.h"
#include "search/rank.h"

struct rank_list {
    struct rank_source from;
    const struct leaf *leaves; /* either these or `ids` */
    const int64_t *ids;
    size_t count;
};

/* A number for each id of the window: bits[k] is the set of ids whose number has bit k. */
struct rank_sums {
    uint64_t *bits[12];
    unsigned count;
};

struct rank_word {
    struct rank_list *lists; /* sorted by cost and field */
    size_t count;
    size_t cap;
    unsigned parts; /* the highest number of a part, plus 1 */
};

struct rank_group {
    struct rank_list *lists;
    size_t count;
    size_t cap;
};

struct rank {
    struct arena *arena;
    unsigned words;
    size_t limit;
    unsigned groups;
    struct rank_word word[RANK_WORDS];
    struct rank_group need[RANK_GROUPS];
    struct rank_group excluded;
    struct rank_group counted[RANK_COUNTED_GROUPS];
    unsigned group_counts;
    size_t *counts; /* ids of each group of RANK_COUNTED */
    /* The current window: */
    struct docset_window window;
    uint64_t *matched[RANK_WORDS + 1]; /* [n]: ids that match the first n words and the rules */
    uint64_t *parts[RANK_GROUPS];
    uint64_t *scratch;
    struct rank_sums cost;
    struct rank_sums field;
    /* The best hits, and room for hits of the next window: */
    struct rank_hit *hits;
    struct rank_hit *fresh;
    struct rank_hit *merged;
    size_t count;
};

/* Allocates the sets, for windows of up to `span` ids. */
void rank_levels_init(struct rank *rank, size_t span);
/* Computes matched[] and the sums of the window. LEAF_BAD. */
int rank_levels_match(struct rank *rank) MUSTCHECK;
/* Adds to counts[] how many ids that match all words are in each group of RANK_COUNTED.
 * LEAF_BAD. */
int rank_levels_count(struct rank *rank) MUSTCHECK;
/* Stores up to `limit` hits of the window that match `least` words or more in `fresh`, best first,
 * and returns how many. Stops before hits that are not better than `worst` (NULL: there is no such
 * limit). */
size_t rank_levels_best(struct rank *rank, unsigned least, const struct rank_hit *worst);
