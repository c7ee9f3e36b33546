#pragma once
/*
 * The hits of a search while the answer is prepared. search_page.c orders them and fetches the
 * records of a page; search_show.c decides which hits the answer has, and writes them.
 */
#include "areas/search/search.h"

/* A hit and its record. */
struct search_hit {
    struct search_target *target;
    struct rank_hit hit;
    const struct records_picked *picked; /* NULL = not fetched, or the caller may not see it */
    size_t row;
    const struct records_picked *texts; /* NULL = the record's texts were not read */
    size_t text_row;
    int64_t bytes; /* of the record's texts, after search_answer_measure_texts() */
    int closeness; /* 2 = a field equals the query; 1 = the query's words are adjacent in a field */
};

/* The state of preparing the answer. */
struct search_answer {
    struct search_plan *plan;
    const struct search_params *params;
    struct highlighter *highlighter;
    struct search_hit *found; /* all hits, best first */
    size_t count;
    size_t first, end;     /* the page, as positions in `found` */
    size_t unfiltered_end; /* with equal_bytes > 0: hits from this position on are fetched only if a
                              text may equal the query */
    size_t equal_bytes;    /* length of the query; 0 = fetch all hits */
    bool reads_chunks;     /* records are too large to be read with their texts; texts are read in
                              chunks */
    struct arena *chunk_arena; /* memory of the current chunk of texts; NULL = none */
    int64_t chunk_bytes_total; /* of all chunks so far */
    bool has_unread_texts;     /* the texts of some hits were not read: there were too many */
    int64_t total;
    bool is_total_exact, has_next;
};

/* any: Merges the hits of all targets into `found`, best first. */
void search_answer_merge(struct search_answer *showing);
/* any: Sets the words and terms that are marked in texts. */
void search_answer_mark(struct search_answer *showing);
/* any: Returns whether each phrase of the query is in one of the fields that it may match, for a
 * hit whose texts were read. */
bool search_answer_has_phrases(const struct search_answer *showing, const struct search_hit *found);
/* any: Returns the texts of a target's fields, for struct records_pick; arena-owned. */
const struct records_text *search_answer_texts(const struct search_plan *plan,
                                               const struct search_target *target);
/* any: Returns a hit's text by the field's position in the target; STR_NONE if it is null or was
 * not read. Borrowed from found->texts. */
struct str search_hit_text(const struct search_hit *found, size_t field);
/* co: Sets how many bytes of text each of found[from, to) has. Returns 0 or the status of the
 * answer. */
AWAITS int search_answer_measure_texts(struct search_answer *showing, size_t from, size_t to)
    MUSTCHECK;
/* co: Reads the next chunk of texts: the texts of found[from, *ret_end), of at least one hit and at
 * most up to `to`. The hits have to be measured (search_answer_measure_texts()). Frees the texts of
 * the previous chunk. Reads none when all chunks have SEARCH_BYTES. Returns 0 or the status of the
 * answer. */
AWAITS int
search_answer_read_chunk(struct search_answer *showing, size_t from, size_t to, size_t *ret_end)
    MUSTCHECK;
/* any: Returns whether `rc` is a failure because the result is too large; clears this error. */
bool search_answer_clear_too_large(const struct search_answer *showing, int rc);
/* co: Fetches the page: sets found[first, end) and has_next. Returns 0 or the status of the answer.
 */
AWAITS int search_answer_fetch_page(struct search_answer *showing) MUSTCHECK;
