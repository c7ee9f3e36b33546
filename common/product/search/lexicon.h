#pragma once
/*
 * The words of a project in rows of at most 1,900 bytes, so that prefixes and typos cost one short
 * read (search_lexicon): rows of (first letter, number of letters) with all words of that kind, and
 * rows of a prefix with the 64 commonest words that begin so. A row is a sequence of records: id (4
 * bytes, little endian), weight (1), length (1), the term. A row that is none is LEXICON_BAD,
 * whatever its bytes are. Pure; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

enum {
    LEXICON_BYTES = 1900,
    LEXICON_KEY_BYTES = 72,
    LEXICON_PREFIXES = 64, /* words of a prefix's rows, and what a prefix is expanded to */
    LEXICON_TYPOS = 16,    /* what a word is expanded to, for each number of typos */
    LEXICON_FIRSTS = 80,   /* room for lexicon_firsts() */
};

struct lexicon_term {
    struct str term;
    int32_t id;
    uint8_t weight; /* lexicon_weight() of the documents that have it */
};

/* 2 * log2(df), rounded down: the weight changes when df has grown or shrunk by two fifths. 0 of 0,
 * 1 of 1. */
uint8_t lexicon_weight(int64_t df);

/* The key of the rows that a term stands in: its first letter and the number of its letters in two
 * digits ("b07"). False for what has none: grams and pseudo-words of principals are not mistyped.
 * Arena-owned. */
bool lexicon_key(struct arena *arena, struct str term, struct str *ret_key);
/* The keys that hold whatever is within `typos` of the term and begins alike; at most 5. */
size_t
lexicon_keys(struct arena *arena, struct str term, unsigned typos, struct str keys[static 5]);
/* The key of a prefix's rows ("*bra"), of any prefix of a term. */
struct str lexicon_prefix_key(struct arena *arena, struct str prefix);

/* Reads a row: *at begins as 0. False at its end; LEXICON_BAD is in *ret_rc, 0 otherwise. */
bool lexicon_next(struct str row, size_t *at, struct lexicon_term *ret_term, int *ret_rc);
/* Whether a row can be read to its end: ids above 0, terms that are UTF-8 and not too long. */
bool lexicon_valid(struct str row);
/* The row with a term more, or with the new weight of one that is there. LEXICON_FULL: it does not
 * fit; LEXICON_BAD. Arena-owned. */
int lexicon_put(struct arena *arena, struct str row, struct lexicon_term term, struct str *ret_row)
    MUSTCHECK;
/* Whether the row holds the term of this id. */
int lexicon_find(struct str row, int32_t id, struct lexicon_term *ret_term, bool *ret_found)
    MUSTCHECK;
/* The row without the term of this id; as it is if that is not there. Arena-owned. LEXICON_BAD. */
int lexicon_take(struct arena *arena, struct str row, int32_t id, struct str *ret_row) MUSTCHECK;
/* All terms packed into rows (parts of one key), in the order given. Arena-owned. */
size_t lexicon_build(struct arena *arena,
                     const struct lexicon_term *terms,
                     size_t count,
                     struct str **ret_rows);

/* The commonest of what is offered; of terms that are equally common the one that comes first by
 * its bytes. */
struct lexicon_best {
    struct lexicon_term *items; /* after lexicon_sort(): commonest first */
    size_t count;
    size_t max;
    bool more; /* others were offered that had no room */
};
void lexicon_best_init(struct lexicon_best *best, struct arena *arena, size_t max);
/* Terms are borrowed from the rows. */
void lexicon_offer(struct lexicon_best *best, struct lexicon_term term);
void lexicon_sort(struct lexicon_best *best);

/* Offers the words of a row that are as far from the term as the number of typos says, best[0]
 * those with one and best[1] those with two; `typos` is 1 or 2. LEXICON_BAD. */
int lexicon_scan(struct str row, struct str term, unsigned typos, struct lexicon_best *best)
    MUSTCHECK;
/* Offers the words of a row that begin with the prefix, the prefix itself apart. LEXICON_BAD. */
int lexicon_scan_prefix(struct str row, struct str prefix, struct lexicon_best *best) MUSTCHECK;
/* The words that a mistyped first letter may stand for (it counts two typos): looked up exactly. */
size_t
lexicon_firsts(struct arena *arena, struct str term, struct str firsts[static LEXICON_FIRSTS]);
