#pragma once
/*
 * What a person types into a search box, understood: words, "phrases", -without, field:word,
 * prefix*, and * for all there is. Any text is a query: what says nothing in it is passed over.
 * Pure; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

enum {
    /* What stands behind the first so many of each is passed over: */
    SEARCH_LETTERS = 512, /* code points of a query */
    SEARCH_WORDS = 10,    /* words, each phrase one; a run of a script without spaces is one */
    SEARCH_PARTS = 32,    /* terms of one word */
    SEARCH_PREFIXES = 16, /* terms that may go on: each stands for up to 64 of the lexicon */
};

enum search_kind {
    SEARCH_WORD,   /* `term` */
    SEARCH_CODE,   /* AB-1234: `term` (the whole, "ab1234"), or else all of `parts` */
    SEARCH_GRAMS,  /* all of `parts`, which overlap by a letter */
    SEARCH_PHRASE, /* all of `parts`, side by side in one field: the index proposes, the text
                      decides */
};

struct search_part {
    struct str term;
    uint32_t place; /* among all terms of the query, where one stands behind the other */
    bool prefix;    /* one letter of a script without spaces: whatever begins with it has it */
};

struct search_word {
    enum search_kind kind;
    struct str term;           /* not of SEARCH_GRAMS and SEARCH_PHRASE */
    struct search_part *parts; /* not of SEARCH_WORD; in their order */
    size_t part_count;
    struct str field; /* "" = any */
    struct str text;  /* as it was written, without signs */
    uint32_t place;   /* of SEARCH_WORD and SEARCH_CODE, as of parts */
    bool prefix;      /* of `term`, and of the last of the parts: words that begin so match, too */
    bool quoted;      /* a phrase, or a word in quotation marks: without typos */
    bool without;     /* records that match it are left out */
    bool symbol;      /* a sign that stands for itself: less is said by it than by a word */
    size_t bare;      /* of "c++" 1: bytes of `term` without the signs behind it; 0: it has none */
    unsigned typos;   /* that it is excused: 0 to 2; of SEARCH_WORD alone */
};

struct search_query {
    struct search_word *words;
    size_t count; /* 0 without `all`: there is nothing to find */
    bool all;     /* "*": what is not left out */
};

struct search_fields {
    /* Whether the caller may search in a field of this name. Others are no fields: "12:30" and
     * "note:this" are words. */
    bool (*is_field)(const void *arg, struct str name);
    const void *arg;
};

/* Everything is arena-owned. `fields` may be NULL: no field has a name. The last word is a prefix,
 * unless it is left out or part of a phrase; of a phrase whose closing mark is missing, which ends
 * with the text, the last part is one. A phrase is not left out: '-' before it passes it over. So
 * do words to leave out where none is to be found. */
void search_query_parse(struct arena *arena,
                        struct str text,
                        const struct search_fields *fields,
                        struct search_query *ret_query);
