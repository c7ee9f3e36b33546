#pragma once
/*
 * Skips texts that need not be cut into terms, because none of their terms can match a query: most
 * texts of a page of hits. highlight.c checks a text here first. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum {
    PREFILTER_BEGINNINGS = 4096, /* first letters of terms, by hash */
    PREFILTER_FIRSTS = 4         /* first letters that are compared one by one */
};

struct prefilter {
    uint64_t beginnings[PREFILTER_BEGINNINGS / 64];
    uint64_t firsts[PREFILTER_FIRSTS]; /* first letters of terms, each repeated in eight bytes */
    unsigned first_count;              /* above PREFILTER_FIRSTS: every letter counts */
    bool is_disabled;                  /* a term is too short or not ASCII: no text is skipped */
};

/* Adds a term of the query, or the beginning of terms. */
void prefilter_add(struct prefilter *prefilter, struct str term);
/* False only if no term of the text begins like a term that was added: the text is ASCII, signs
 * join no words, and no word begins with such letters. */
bool prefilter_can_match(const struct prefilter *prefilter, struct str text);
