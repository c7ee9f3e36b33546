#pragma once
/*
 * What of a record's text a query matched: marked, in a window of 30 words around the most of it,
 * as HTML that is safe to show: the text is escaped (& < > " '), <mark> and </mark> are the only
 * tags. And how well, for the order among equals. Pure; any thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "search/search_query.h"

enum { HIGHLIGHT_WORDS = 30 };

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
    bool phrases;   /* all phrases that are meant for this field stand in it */
    unsigned words; /* of the query that are in it */
};

/* Looks at one field's text, of a field of this name, and appends the snippet to `ret` ("" when
 * nothing is marked; NULL: no snippet is wanted). An omission is shown by "…". */
struct highlight_match highlight_field(const struct highlighter *highlighter,
                                       struct str field,
                                       struct str text,
                                       struct strbuf *ret);
