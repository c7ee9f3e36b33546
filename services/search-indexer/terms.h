#pragma once
/*
 * A set of words, each once: the words of a batch, or of a build. Words are numbered from 0 in the
 * order in which they were added. Any thread, one at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct word {
    struct str term;
    int32_t id;    /* in search_terms; 0 = not known yet */
    int32_t part;  /* of the word's lexicon row */
    int32_t df;    /* document frequency: about the number of records that have the word */
    int32_t delta; /* change of df */
    bool fresh;    /* its row has not been written yet */
};

struct word_ref {
    int32_t id;
    uint32_t number;
};

/* Most comparisons read the slot alone: other words mostly have another hash, and a short word is
 * stored in the slot. */
struct term_slot {
    uint32_t number; /* number of the word + 1; 0 = free */
    uint32_t hash;
    uint64_t letters; /* a word of up to eight bytes, padded with zeros; 0: compare the text */
};

struct index_terms {
    struct arena *arena;
    struct word *items;
    size_t count, cap;
    size_t stored; /* words before this number have an id, and nothing is left to do about them */
    struct term_slot *slots;
    size_t slot_count;
    uint64_t seed;
    struct word_ref *by_id; /* words with an id, ordered by id, after terms_index() */
    size_t by_id_count;
};

/* Begins an empty set, whose memory is `arena`. */
void terms_init(struct index_terms *terms, struct arena *arena);
/* Adds a word that is not in the set, and returns its number. A new word's text is copied into the
 * arena. */
uint32_t terms_put(struct index_terms *terms, struct str term);
/* NULL: the word is not in the set. Valid until the next terms_put(). */
struct word *terms_find(const struct index_terms *terms, struct str term);
/* Prepares terms_by_id(), once ids are known. */
void terms_index(struct index_terms *terms);
/* NULL: no word has this id. */
struct word *terms_by_id(const struct index_terms *terms, int32_t id);
