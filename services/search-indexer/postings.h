#pragma once
/* Posting lists of a build while they are in memory (build.c): ids are only appended. Any thread,
 * one at a time. */
#include "search/forward.h"
#include "search/leaf.h"

struct postings;

/* postings_new() returns owned; postings_free() frees it, also NULL. */
struct postings *postings_new(void);
void postings_free(struct postings *postings);
/* Appends a record to the lists of its terms. Records must come by ascending id; any other order
 * panics. */
void postings_add(struct postings *postings, int64_t id, const struct forward_list *of);
/* Bytes of memory in use. */
size_t postings_bytes(const struct postings *postings);

struct posting_list {
    int32_t term;
    int16_t field;
    int32_t n;
    const int64_t *ids; /* valid until the next call */
};
/* postings_sort() sorts the lists by term and field; nothing can be added afterwards.
 * postings_next() then returns one list after the other; false at the end. */
void postings_sort(struct postings *postings);
bool postings_next(struct postings *postings, struct posting_list *ret_list);
