#pragma once
/* The distance between two words: letters that are inserted, missing, replaced, or swapped with a
 * neighbour (optimal string alignment), by Hyyrö's bit-parallel algorithm in a few nanoseconds per
 * letter. Pure; any thread. */
#include <stdint.h>

#include "base/str.h"

enum { TYPO_LETTERS = 64 };

/* A word that other words are compared with. */
struct typo_word {
    uint64_t ascii[128]; /* a bit for each place of the letter */
    struct {
        uint32_t letter;
        uint64_t bits;
    } other[TYPO_LETTERS]; /* letters above 127 */
    unsigned others;
    unsigned letters;
};

/* Prepares a term (tokens.h): valid UTF-8 of at most 64 letters. */
void typo_init(struct typo_word *word, struct str text);
/* The distance to `text`, or most + 1 if it is above `most`. Bytes that are not UTF-8 count as
 * letters. */
unsigned typo_distance(const struct typo_word *word, struct str text, unsigned most);
/* How many typos are tolerated in a word: 1 from 5 letters on, 2 from 9. None with digits, or in
 * scripts without spaces. */
unsigned typo_tolerated(struct str term);
