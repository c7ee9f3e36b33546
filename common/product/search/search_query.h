#pragma once
/*
 * Parses what a person types into a search box: words, "phrases", -without, field:word, prefix*,
 * and * for everything. Every text is a query; what means nothing in it is ignored. The result is
 * still text: the gateway expands its words to terms of the lexicon (lexicon.h) and ranks records
 * by them (rank.h). Pure; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

enum {
    /* Everything beyond these numbers is ignored: */
    SEARCH_LETTERS = 512, /* code points of a query */
    SEARCH_WORDS = 10,    /* a phrase is one word, and so is a run of a script without spaces */
    SEARCH_PARTS = 32,    /* terms of one word */
    SEARCH_PREFIXES = 16, /* terms that are prefixes, each expanded to up to 64 words */
};

enum search_kind {
    SEARCH_WORD,   /* `term` */
    SEARCH_CODE,   /* AB-1234: `term` (the whole, "ab1234"), or all of `parts` */
    SEARCH_GRAMS,  /* all of `parts`, which overlap by a letter */
    SEARCH_PHRASE, /* all of `parts`, next to each other in one field: the index proposes records,
                      their text decides */
};

struct search_part {
    struct str term;
    uint32_t position; /* among all terms of the query, in their order */
    bool prefix; /* a single letter of a script without spaces: matches all terms that begin with it
                  */
};

struct search_word {
    enum search_kind kind;
    struct str term;           /* not of SEARCH_GRAMS and SEARCH_PHRASE */
    struct search_part *parts; /* not of SEARCH_WORD; in their order */
    size_t part_count;
    struct str field;  /* "" = any */
    struct str text;   /* as typed, without the signs around it; borrowed */
    uint32_t position; /* of `term`, as search_part.position */
    bool prefix;       /* of `term`, and of the last part: words that begin with it match too */
    bool quoted;       /* a phrase, or a word in quotation marks: no typos */
    bool excluded;     /* records that match it are left out */
    bool symbol;       /* a sign that is a term: it says less than a word */
    size_t bare_bytes; /* length of `term` without its signs (1 for "c++"); 0: it has none */
    unsigned typos;    /* number of tolerated typos, 0 to 2; only for SEARCH_WORD */
};

struct search_query {
    struct search_word *words;
    size_t count;    /* 0 without `everything`: nothing to find */
    bool everything; /* "*": all records that are not left out */
};

struct search_fields {
    /* Whether the caller may search in a field of this name. If not, the name is an ordinary word,
     * as in "12:30" and "note:this". */
    bool (*is_field)(const void *arg, struct str name);
    const void *arg;
};

/* The result is arena-owned, except that the words' `text` points into `text`. `fields` NULL: there
 * are no field names. The last word is a prefix, unless it is left out, a symbol or part of a
 * phrase; if the closing mark of the last phrase is missing, its last part is a prefix. Phrases and
 * runs of a script without spaces cannot be left out: after a '-' they are ignored. Words to leave
 * out are ignored if there is nothing to find. */
void search_query_parse(struct arena *arena,
                        struct str text,
                        const struct search_fields *fields,
                        struct search_query *ret_query);
