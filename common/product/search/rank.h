#pragma once
/*
 * What a query finds in leaves, and in which order: set algebra over windows from the newest ids
 * down, levels without floats. Best first: most words matched (words are dropped from the right:
 * the first is always there), least typos (the costs of all words summed), best fields (ranks
 * summed), newest. What needs the text of records (a field equals the query, words stand together)
 * is decided among the first by the caller (highlight.h). Pure; any thread: a list above a megabyte
 * belongs on the thread pool.
 *
 *     struct rank *rank = rank_new(arena, words, limit);
 *     rank_list(rank, ...)                                   once for each (term, field) and for
 * each list of a rule TRY(rank_run(rank, &(struct rank_bounds){...}, &result));
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/leaf.h"

enum {
    RANK_WORDS = 16,  /* words of a query that find, at most */
    RANK_GROUPS = 64, /* of RANK_NEED, and as many parts of a word */
    RANK_TALLIES = 80,
    RANK_COST = 15,   /* highest cost of one word */
    RANK_FIELD = 255, /* highest rank of a field */
    RANK_SPAN = 262144,
};

/* What one word matched by, for rank_from.cost. */
enum rank_cost { RANK_EXACT = 0, RANK_PREFIX = 1, RANK_ONE_TYPO = 2, RANK_TWO_TYPOS = 3 };

enum rank_use {
    RANK_WORD,  /* `number` is the word's place in the query: 0, 1, .. without gaps */
    RANK_NEED,  /* in one of the lists of group `number`, for all groups: rules, phrases, filters */
    RANK_NOT,   /* in none */
    RANK_TALLY, /* finds nothing: group `number` is counted among what matches all words */
};

/* Whose list it is. A word matches where one of the lists of its part 0 has the record, or one of
 * each of its other parts, if it has them: of "AB-1234" the part 0 is ab1234, 1 ab and 2 1234;
 * letters of a script without spaces are parts from 1 on. The cost and the field of several parts
 * are their worst. */
struct rank_from {
    enum rank_use use;
    unsigned number;
    unsigned part;  /* of RANK_WORD */
    unsigned cost;  /* of RANK_WORD */
    unsigned field; /* of RANK_WORD: 0 = the best field */
};

struct rank_hit {
    int64_t id;
    uint8_t matched; /* words, from the left */
    uint8_t cost;    /* summed over those */
    uint16_t field;  /* summed over those */
};

struct rank_result {
    struct rank_hit *hits; /* best first, `limit` at most; arena-owned */
    size_t count;
    size_t total;     /* what matches `least` words or more, of the ids that were looked at */
    size_t total_all; /* what matches all of them */
    size_t *tallies;  /* of each group of RANK_TALLY: how many of total_all one of its lists has */
    bool filled;  /* `limit` hits of the best level that the lists allow: no other id is better */
    int64_t from; /* ids below were not looked at; 0: all were, and the totals are exact */
};

struct rank_bounds {
    unsigned least;   /* words that must match, from the left; 0 = all of them */
    int64_t from;     /* ids below are not looked at, because their leaves were not read */
    size_t span;      /* ids of one pass; 0 = RANK_SPAN */
    bool stop_filled; /* end when there are `limit` hits of the best level that the lists allow */
};

struct rank;

/* A query of as many words, of which the `limit` best are wanted. Without words what is needed,
 * less what is not, is found, newest first; without needs, too, nothing but tallies: of all there
 * is. Arena-owned. */
struct rank *rank_new(struct arena *arena, unsigned words, size_t limit);
/* Adds a list: leaves with ascending bases, as search_postings has them. Borrowed until rank_run()
 * has returned. */
void rank_leaves(struct rank *rank, struct rank_from from, const struct leaf *leaves, size_t count);
/* The same of ids, ascending. */
void rank_ids(struct rank *rank, struct rank_from from, const int64_t *ids, size_t count);
/* LEAF_BAD: a leaf is not one. */
int rank_run(struct rank *rank, const struct rank_bounds *bounds, struct rank_result *ret_result)
    MUSTCHECK;
