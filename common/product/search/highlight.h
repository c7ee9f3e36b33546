#pragma once
/*
 * Finds what a query matched in a record's text. The result is a snippet of 30 words around most of
 * the matches, as HTML that is safe to show: the text is escaped (& < > " '), and <mark> and
 * </mark> are the only tags. The result also says how well the text matches, which orders hits that
 * rank.h considers equal. Pure; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "search/search_query.h"

enum {
    HIGHLIGHT_WORDS = 30,
    HIGHLIGHT_BYTES = 1024, /* of text in one snippet */
};

/* The words of a query, each with the terms that it was expanded to. */
struct highlighter;

/* Prepares a query for any number of records. Words that are left out mark nothing. Arena-owned. */
struct highlighter *highlight_new(struct arena *arena, const struct search_query *query);
/* Adds a term of the lexicon that this word may mean as well (by a typo or a synonym); borrowed. A
 * term of the text matches a word if it is the word's term, begins with it where the word is a
 * prefix, or was added here. */
void highlight_add(struct highlighter *highlighter, size_t word, struct str term);

struct highlight_match {
    bool any;    /* something is marked; otherwise nothing was written */
    bool equals; /* the text is the query, whole and in order, except for case, accents and signs */
    bool adjacent;  /* all words of the query are next to each other, in order */
    uint32_t words; /* a bit for each word of the query that is in the text; the bit of a phrase
                       only if the whole phrase is */
};

/* Matches the text of the field `field` and appends the snippet to `ret` (NULL: no snippet is
 * wanted). An ellipsis shows where text is left out. A highlighter serves one thread at a time. */
struct highlight_match highlight_field(struct highlighter *highlighter,
                                       struct str field,
                                       struct str text,
                                       struct strbuf *ret);
/* Sets `equals` and `adjacent` alone, and reads no further than both need. `adjacent` stays false
 * for a query of one term: it would be true for every hit. */
struct highlight_match
highlight_order(struct highlighter *highlighter, struct str field, struct str text);
