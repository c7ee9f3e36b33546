#pragma once
/*
 * The hits of a search while the answer is prepared. search_page.c orders them and fetches the
 * records of a page; search_show.c decides which hits the answer has, and writes them.
 */
#include "areas/search/search.h"

/* A hit and its record. */
struct found {
    struct search_target *target;
    struct rank_hit hit;
    const struct records_picked *picked; /* NULL = not fetched, or the caller may not see it */
    size_t row;
    const struct records_picked *texts; /* NULL = the record's texts were not read */
    size_t text_row;
    int64_t bytes; /* of the record's texts, after showing_measure() */
    int closeness; /* 2 = a field equals the query; 1 = the query's words are adjacent in a field */
};

/* The state of preparing the answer. */
struct showing {
    struct search_plan *plan;
    const struct search_ask *ask;
    struct highlighter *marks;
    struct found *found; /* all hits, best first */
    size_t count;
    size_t first, end; /* the page, as positions in `found` */
    size_t whole; /* with most > 0: hits from this position are fetched only if a text may equal */
    size_t most;  /* the query, whose length in bytes this is; 0 = fetch all hits */
    bool apart;   /* records are too large to be read with their texts; texts are read in chunks */
    struct arena *piece; /* memory of the current chunk of texts; NULL = none */
    int64_t piece_bytes; /* of all chunks so far */
    bool unread;         /* the texts of some hits were not read: there were too many */
    int64_t total;
    bool exact, has_next;
};

/* any: Merges the hits of all targets into `found`, best first. */
void showing_merge(struct showing *showing);
/* any: Sets the words and terms that are marked in texts. */
void showing_mark(struct showing *showing);
/* any: Returns whether each phrase of the query is in one of the fields that it may match, for a
 * hit whose texts were read. */
bool showing_has_phrases(const struct showing *showing, const struct found *found);
/* any: Returns the texts of a target's fields, for struct records_pick; arena-owned. */
const struct records_text *showing_texts(const struct search_plan *plan,
                                         const struct search_target *target);
/* any: Returns a hit's text by the field's position in the target; STR_NONE if it is null or was
 * not read. Borrowed from found->texts. */
struct str showing_text(const struct found *found, size_t field);
/* co: Sets how many bytes of text each of found[from, to) has. Returns 0 or the status of the
 * answer. */
AWAITS int showing_measure(struct showing *showing, size_t from, size_t to) MUSTCHECK;
/* co: Reads the next chunk of texts: those of found[from, *ret_end), at least one hit and at most
 * up to `to`. The hits have to be measured. Frees the texts of the chunk before. Reads none after
 * SEARCH_BYTES in all. Returns 0 or the status of the answer. */
AWAITS int showing_piece(struct showing *showing, size_t from, size_t to, size_t *ret_end)
    MUSTCHECK;
/* any: Returns whether `rc` is a failure because the result is too large; clears this error. */
bool showing_too_large(const struct showing *showing, int rc);
/* co: Fetches the page: sets found[first, end) and has_next. Returns 0 or the status of the answer.
 */
AWAITS int showing_page(struct showing *showing) MUSTCHECK;
