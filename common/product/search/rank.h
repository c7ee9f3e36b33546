#pragma once
/*
 * Finds which records match a query, and in which order. The caller adds posting lists for each
 * word and each rule; rank_run() evaluates them as sets of ids, window by window, from the newest
 * ids down.
 *
 * Best first: most words matched (words are dropped from the right, so the first one always
 * matches), fewest typos (costs of all words summed), best fields (ranks summed), newest. Scores
 * are integers. What needs the text of records (a field equals the query, words are next to each
 * other) is decided by the caller among the first hits (highlight.h). Pure; any thread. Queries
 * over lists of more than a megabyte belong on the thread pool.
 *
 *     struct rank *rank = rank_new(arena, words, limit);
 *     rank_leaves(rank, ...);    once for each (term, field), and for each list of a rule
 *     TRY(rank_run(rank, &(struct rank_bounds){...}, &result));
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/leaf.h"

enum {
    RANK_WORDS = 16,  /* words of a query that are not left out, at most */
    RANK_GROUPS = 64, /* of RANK_NEED, and as many parts of a word */
    RANK_COUNTED_GROUPS = 80,
    RANK_COST = 15,   /* highest cost of one word */
    RANK_FIELD = 255, /* highest rank of a field */
    RANK_SPAN = 262144,
};

/* How a word matched, for rank_source.cost. */
enum rank_cost { RANK_EXACT = 0, RANK_PREFIX = 1, RANK_ONE_TYPO = 2, RANK_TWO_TYPOS = 3 };

enum rank_use {
    RANK_WORD,    /* `number` is the word's place in the query: 0, 1, .. without gaps */
    RANK_NEED,    /* a record is in one list of each group (`number`): rules, phrases, filters */
    RANK_NOT,     /* a record is in none of these lists */
    RANK_COUNTED, /* does not filter: counts the matches of all words that are in a list of group
                   `number` */
};

/* The use of a list. A word matches a record that is in one of the lists of its part 0, or in one
 * list of each of its other parts, if it has any. Of "AB-1234" part 0 is ab1234, part 1 ab and part
 * 2 1234; letters of a script without spaces are parts from 1 on. The cost and the field of several
 * parts are those of the worst part. */
struct rank_source {
    enum rank_use use;
    unsigned number;
    unsigned part;  /* of RANK_WORD */
    unsigned cost;  /* of RANK_WORD */
    unsigned field; /* of RANK_WORD: 0 = the best field */
};

struct rank_hit {
    int64_t id;
    uint8_t matched; /* words that match, from the left */
    uint8_t cost;    /* sum over these words */
    uint16_t field;  /* sum over these words */
};

struct rank_result {
    struct rank_hit *hits; /* best first, `limit` at most; arena-owned */
    size_t count;
    size_t total; /* ids that match `min_words` words or more, among the ids that were evaluated */
    size_t total_all;     /* ids that match all words */
    size_t *group_counts; /* for each group of RANK_COUNTED: how many ids of total_all are in one of
                        its lists */
    bool filled;  /* there are `limit` hits with the lowest cost and field that the lists allow: no
                     other id is better */
    int64_t from; /* ids below were not evaluated; 0: all were, and the totals are exact */
};

struct rank_bounds {
    unsigned min_words;    /* words that must match, from the left; 0 = all of them */
    int64_t from;          /* ids below are not evaluated, because their leaves were not read */
    size_t span;           /* ids of a window; 0 = RANK_SPAN */
    bool stop_when_filled; /* stop as soon as the result is `filled` */
};

struct rank;

/* Begins a query of `words` words that wants the `limit` best hits. Without words the hits are all
 * ids that the groups of RANK_NEED allow and RANK_NOT does not exclude, newest first. Without words
 * and without RANK_NEED only the groups of RANK_COUNTED are counted, over all ids. Arena-owned. */
struct rank *rank_new(struct arena *arena, unsigned words, size_t limit);
/* Adds a list as leaves with ascending bases, as in search_postings. Borrowed until rank_run() has
 * returned. */
void rank_leaves(struct rank *rank,
                 struct rank_source from,
                 const struct leaf *leaves,
                 size_t count);
/* Adds a list as ascending ids, which are borrowed as well. */
void rank_ids(struct rank *rank, struct rank_source from, const int64_t *ids, size_t count);
/* Runs the query. LEAF_BAD: a leaf is malformed. */
int rank_run(struct rank *rank, const struct rank_bounds *bounds, struct rank_result *ret_result)
    MUSTCHECK;
