#pragma once
/*
 * Forward lists: which (term, field) pairs the index holds for a record (search_docs), so that a
 * change takes out what is gone and puts in what is new. Pure; any thread. Bytes: for each field,
 * ascending, the varints of field - previous field, of how many terms it has, and of each term -
 * previous term.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct forward_pair {
    int32_t term;  /* above 0 */
    int16_t field; /* 0 or above */
};

struct forward_list {
    struct forward_pair *items;
    size_t count;
};

/* Sorts by field and term, and keeps each pair once: how many are left. */
size_t forward_sort(struct forward_pair *pairs, size_t count);
/* Of sorted pairs. Arena-owned. */
struct str forward_encode(struct arena *arena, const struct forward_list *list);
/* Sorted pairs, arena-owned. FORWARD_BAD: not a list. */
int forward_decode(struct arena *arena, struct str bytes, struct forward_list *ret_list) MUSTCHECK;
/* What `now` has and `before` has not, and the other way round; both sorted. Arena-owned. */
void forward_diff(struct arena *arena,
                  const struct forward_list *before,
                  const struct forward_list *now,
                  struct forward_list *ret_added,
                  struct forward_list *ret_gone);
