#pragma once
/*
 * What of a record's text a query matched: marked, in a window of 30 words around the most of it,
 * as HTML that is safe to show: the text is escaped (& < > " '), <mark> and </mark> are the only
 * tags. And how well, for the order among equals. Pure; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "search/search_query.h"

enum {
    HIGHLIGHT_WORDS = 30,
    HIGHLIGHT_BYTES = 1024, /* of text, in one snippet */
};

/* What marks: each word of the query with what it was expanded to. */
struct highlighter;

/* Words that are left out mark nothing. Arena-owned, for any number of records. */
struct highlighter *highlight_new(struct arena *arena, const struct search_query *query);
/* A term of the lexicon that also stands for this word (a typo's, a synonym). A word of the text
 * marks if it is a term, begins with the term of a prefix, or was added here. */
void highlight_add(struct highlighter *highlighter, size_t word, struct str term);

struct highlight_match {
    bool any;       /* something is marked; else nothing was written */
    bool equals;    /* the text is the query, whole and in order, but for case, accents and signs */
    bool adjacent;  /* all words of the query side by side, in order */
    uint32_t words; /* a bit for each word of the query that is in the text; of a phrase if it
                       stands there whole */
};

/* Looks at the text of a field of this name, and appends the snippet to `ret` (NULL: none is
 * wanted). What is left out is shown by an ellipsis. Not from two threads at once with one
 * highlighter. */
struct highlight_match highlight_field(struct highlighter *highlighter,
                                       struct str field,
                                       struct str text,
                                       struct strbuf *ret);
/* Of the same, equals and adjacent alone: reads no further than one of them is open. A query of one
 * term is adjacent wherever it is, which orders nothing: not said. */
struct highlight_match
highlight_order(struct highlighter *highlighter, struct str field, struct str text);
