#pragma once
/*
 * Texts that need not be cut into terms, because none of them can be one that is looked for: most
 * of those that a page of hits shows. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum {
    PREFILTER_BEGINNINGS = 4096, /* the first letters of terms, by hash */
    PREFILTER_FIRSTS = 4         /* first letters that are looked for by themselves */
};

struct prefilter {
    uint64_t beginnings[PREFILTER_BEGINNINGS / 64];
    uint64_t firsts[PREFILTER_FIRSTS]; /* letters that terms begin with, in each of eight bytes */
    unsigned first_count;              /* above PREFILTER_FIRSTS: any letter may be one */
    bool all; /* a term is too short, or not of ASCII: no text is passed over */
};

/* A term that is looked for, or what it begins with. */
void prefilter_add(struct prefilter *prefilter, struct str term);
/* False only if no term of the text begins as one of those: it is all words of ASCII, none bound to
 * another by a sign, and none has such first letters. */
bool prefilter_may_match(const struct prefilter *prefilter, struct str text);
