#pragma once
/* Posting lists of a rebuild, as long as they are in memory: ids only grow. Any thread, one at a
 * time. */
#include "search/forward.h"
#include "search/leaf.h"

struct postings;

/* Returns owned. */
struct postings *postings_new(void);
void postings_free(struct postings *postings);
/* The lists of one record; records come by ascending id, others are a broken invariant. */
void postings_add(struct postings *postings, int64_t id, const struct forward_list *of);
/* Bytes that it holds. */
size_t postings_bytes(const struct postings *postings);

struct posting_list {
    int32_t term;
    int16_t field;
    int32_t n;
    const int64_t *ids; /* until the next call */
};
/* All lists by term and field: sorted first, then one after the other; false at the end. Nothing is
 * added any more. */
void postings_sort(struct postings *postings);
bool postings_next(struct postings *postings, struct posting_list *ret_list);
