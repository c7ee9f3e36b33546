#pragma once
/*
 * Forward lists: the (term, field) pairs that the index holds for a record, as search_docs stores
 * them. When a record changes, its new pairs are compared with its forward list: the difference
 * says which posting lists gain the record's id and which ones lose it. Pure; any thread.
 *
 * Bytes: for each field, ascending, the varints (LEB128) of field - previous field, of the number
 * of its terms, and of each term - previous term.
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

/* Sorts by field and term and removes duplicates. Returns how many pairs are left. */
size_t forward_sort(struct forward_pair *pairs, size_t count);
/* The bytes of sorted pairs. Arena-owned. */
struct str forward_encode(struct arena *arena, const struct forward_list *list);
/* The sorted pairs of such bytes, arena-owned. FORWARD_BAD: the bytes are malformed. */
int forward_decode(struct arena *arena, struct str bytes, struct forward_list *ret_list) MUSTCHECK;
/* *ret_added has the pairs that only `now` has, *ret_gone those that only `before` has. Both lists
 * are sorted. Arena-owned. */
void forward_diff(struct arena *arena,
                  const struct forward_list *before,
                  const struct forward_list *now,
                  struct forward_list *ret_added,
                  struct forward_list *ret_gone);
