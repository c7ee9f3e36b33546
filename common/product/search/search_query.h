#pragma once
/*
 * What a person types into a search box, understood: words, "phrases", -without, field:word,
 * prefix*, and * for all there is. Pure; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

enum {
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
    unsigned typos;   /* that it is excused: 0 to 2; of SEARCH_WORD alone */
};

struct search_query {
    struct search_word *words;
    size_t count;
    bool all; /* "*": what is not left out */
};

enum search_fault {
    SEARCH_TOO_LONG,       /* more than 512 letters */
    SEARCH_TOO_MANY_WORDS, /* more than 10, one of too many parts, or too many that may go on */
    SEARCH_EMPTY,          /* no letter or digit in it */
    SEARCH_UNCLOSED,       /* a quotation mark without the other one */
    SEARCH_NO_WORD,        /* '-' or "field:" or '*' without a word */
    SEARCH_WITHOUT_PHRASE, /* '-' before a phrase or word of several terms */
    SEARCH_WITHOUT_ONLY,   /* words to leave out, and none to find */
};

struct search_error {
    enum search_fault fault;
    size_t at;       /* byte of the query */
    struct str text; /* a sentence for the caller: what is wrong and where */
};

struct search_fields {
    /* Whether the caller may search in a field of this name. Others are no fields: "12:30" and
     * "note:this" are words. */
    bool (*is_field)(const void *arg, struct str name);
    const void *arg;
};

/* SEARCH_QUERY_BAD: ret_error says why. Everything is arena-owned. `fields` may be NULL: no field
 * has a name. The last word is a prefix, unless it is left out or part of a phrase. */
int search_query_parse(struct arena *arena,
                       struct str text,
                       const struct search_fields *fields,
                       struct search_query *ret_query,
                       struct search_error *ret_error) MUSTCHECK;
