#pragma once
/*
 * The distance between words in letters put in, left out, replaced, or swapped with their neighbour
 * (optimal string alignment), by Hyyrö's bit-parallel algorithm: a few nanoseconds a letter. Pure;
 * any thread.
 */
#include <stdint.h>

#include "base/str.h"

enum { TYPO_LETTERS = 64 };

/* A word that others are compared with. */
struct typo_word {
    uint64_t ascii[128]; /* where each letter stands */
    struct {
        uint32_t letter;
        uint64_t bits;
    } other[TYPO_LETTERS]; /* those above 127 */
    unsigned others;
    unsigned letters;
};

/* `word` is a term (tokens.h): valid UTF-8 of at most 64 letters. */
void typo_init(struct typo_word *word, struct str text);
/* The distance to `text`; most + 1 stands for all above `most`. Bytes that are not UTF-8 count as
 * letters. */
unsigned typo_distance(const struct typo_word *word, struct str text, unsigned most);
/* Typos that a word is excused: 1 from 5 letters, 2 from 9, none with digits or in scripts without
 * letters to mistype. */
unsigned typo_excused(struct str term);
