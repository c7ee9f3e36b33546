#pragma once
/* What rank.c (windows, hits) and rank_levels.c (one window: sets, sums) share. */
#include "search/docset_private.h"
#include "search/rank.h"

struct rank_list {
    struct rank_from from;
    const struct leaf *leaves; /* or */
    const int64_t *ids;
    size_t count;
};

/* A number for each id, as one set for each bit; lowest first. */
struct rank_sums {
    uint64_t *bits[12];
    unsigned count;
};

struct rank_word {
    struct rank_list *lists; /* by cost and field */
    size_t count;
    size_t cap;
    unsigned parts; /* the highest number of one, and one more */
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
    struct rank_group without;
    struct rank_group tally[RANK_TALLIES];
    unsigned tallies;
    size_t *counts; /* of each tally */
    /* of the window at hand */
    struct docset_window window;
    uint64_t *matched[RANK_WORDS + 1]; /* [n]: the first n words, and what else is asked for */
    uint64_t *parts[RANK_GROUPS];
    uint64_t *scratch;
    struct rank_sums cost;
    struct rank_sums field;
    /* the best so far, and room for the next */
    struct rank_hit *hits;
    struct rank_hit *fresh;
    struct rank_hit *merged;
    size_t count;
};

/* Room for windows of up to `span` ids. */
void rank_levels_init(struct rank *rank, size_t span);
/* matched[] and the sums of the window. LEAF_BAD. */
int rank_levels_match(struct rank *rank) MUSTCHECK;
/* Adds to counts[] what each tally has of what matches all words. LEAF_BAD. */
int rank_levels_tally(struct rank *rank) MUSTCHECK;
/* Up to `limit` hits of the window into `fresh`, best first, that match `least` words or more; ends
 * before those that are worse than `worst` (NULL: none is). */
size_t rank_levels_best(struct rank *rank, unsigned least, const struct rank_hit *worst);
