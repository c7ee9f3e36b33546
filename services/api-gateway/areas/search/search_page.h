#pragma once
/*
 * The hits of a search on their way to the answer. search_page.c puts them in order and fetches
 * those of a page; search_show.c decides which there are, and writes them.
 */
#include "areas/search/search.h"

/* A hit on its way to the answer. */
struct found {
    struct search_target *target;
    struct rank_hit hit;
    const struct records_picked *picked; /* NULL = not fetched, or not there for the caller */
    size_t row;
    const struct records_picked *texts; /* NULL = its texts were not read */
    size_t text_row;
    int64_t bytes; /* of its texts, after showing_measure() */
    int closeness; /* 2: a field equals the query; 1: its words stand together */
};

struct showing {
    struct search_plan *plan;
    const struct search_ask *ask;
    struct highlighter *marks;
    struct found *found; /* all hits, best first */
    size_t count;
    size_t first, end; /* the page in them */
    size_t whole; /* with most above 0: behind so many only those are fetched that have a text */
    size_t most;  /* which may equal a query of so many bytes */
    bool apart;   /* records are too large to be read with their texts: these are read by pieces */
    struct arena *piece; /* which texts read by pieces lie in; NULL = none */
    int64_t piece_bytes; /* of all pieces so far */
    bool unread;         /* the texts of some hits were not read: there are too many of them */
    int64_t total;
    bool exact, has_next;
};

/* any: the hits of all targets as one list, best first. */
void showing_merge(struct showing *showing);
/* any: what is marked in texts. */
void showing_mark(struct showing *showing);
/* any: of a hit that was fetched, whether each phrase of the query stands in one of the fields that
 * it is meant for. */
bool showing_has_phrases(const struct showing *showing, const struct found *found);
/* any: the texts of a target's fields, for struct records_pick. */
const struct records_text *showing_texts(const struct search_plan *plan,
                                         const struct search_target *target);
/* any: a text of a hit, by its place among the target's fields; STR_NONE if it has none or was not
 * read. */
struct str showing_text(const struct found *found, size_t field);
/* co: how much text each of found[from, to) has. 0, or the status that was put. */
AWAITS int showing_measure(struct showing *showing, size_t from, size_t to) MUSTCHECK;
/* co: texts of found[from, *ret_end), which were measured: some at a time, `to` at most and one at
 * least; those that were read before are gone. Behind SEARCH_BYTES none are read. 0, or the status
 * that was put. */
AWAITS int showing_piece(struct showing *showing, size_t from, size_t to, size_t *ret_end)
    MUSTCHECK;
/* any: whether something failed because it is too large to be answered; if so, that is over. */
bool showing_too_large(const struct showing *showing, int rc);
/* co: the page of what was found, fetched: [first, end), and whether there is another one. */
AWAITS int showing_page(struct showing *showing) MUSTCHECK;
