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
/* co: records of found[from, to); `picked` stays NULL where there is none for the caller. A result
 * of records.h. */
AWAITS int showing_fetch(const struct showing *showing,
                         const struct records_query *query,
                         size_t from,
                         size_t to) MUSTCHECK;
/* co: the page of what was found, fetched: [first, end), and whether there is another one. */
AWAITS int showing_page(struct showing *showing) MUSTCHECK;
