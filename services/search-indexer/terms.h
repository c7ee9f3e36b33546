#pragma once
/*
 * A set of words, each once: of a transaction, or of a rebuild. Words are numbered from 0 in the
 * order they came. Any thread, one at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct word {
    struct str term;
    int32_t id;    /* of search_terms; 0 = not known yet */
    int32_t part;  /* of its lexicon row */
    int32_t df;    /* as it is stored */
    int32_t delta; /* documents that have it more than before */
    bool fresh;    /* its row is about to be written */
};

struct word_ref {
    int32_t id;
    uint32_t number;
};

/* Most words that are looked at and are others are known by their hash, and short ones by their
 * letters, which are the word: nothing else is fetched from memory. */
struct term_slot {
    uint32_t number; /* of a word + 1; 0 = none */
    uint32_t hash;
    uint64_t letters; /* of a word of up to eight bytes, zeros behind; 0: it is longer */
};

struct index_terms {
    struct arena *arena;
    struct word *items;
    size_t count, cap;
    size_t settled; /* the first so many have an id, and nothing is left to do about them */
    struct term_slot *slots;
    size_t slot_count;
    uint64_t seed;
    struct word_ref *by_id; /* of those with one, after terms_index(), by id */
    size_t by_id_count;
};

void terms_init(struct index_terms *terms, struct arena *arena);
/* Its number; a new word's text is copied into the arena. */
uint32_t terms_put(struct index_terms *terms, struct str term);
/* NULL: it is not there. */
struct word *terms_find(const struct index_terms *terms, struct str term);
/* After their ids are known: what terms_by_id() looks in. */
void terms_index(struct index_terms *terms);
/* NULL: no word has this id. */
struct word *terms_by_id(const struct index_terms *terms, int32_t id);
