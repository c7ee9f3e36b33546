#pragma once
/*
 * Leaves of posting lists: ids of records, ascending, in at most 1,900 bytes, as search_postings
 * stores them. A leaf's base is the lowest id that it may hold; the first leaf of a list has base
 * 0, so that for each id there is one whose base is not above it. Packed as deltas, or, where that
 * is shorter (from one id in eight), as bits: the writer chooses by size. A leaf that cannot be is
 * LEAF_BAD, whatever its bytes are. Pure; any thread.
 *
 * Bytes: 3 and varints (LEB128), the highest id first: of highest - base, then of each id's
 * distance from the one above it. Lists mostly grow at their end, which is in front here: all bytes
 * behind stay as they were, and PostgreSQL logs of a changed row what stands between that which did
 * not change in front of it and behind. Or 2, the varint of the first id divided by eight, and the
 * bits from there, lowest first, the last byte not 0. Leaves of older versions are read, too: 1 and
 * varints of id - base for the first and id - previous for the others.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

enum {
    LEAF_BYTES = 1900,              /* below what PostgreSQL moves out of a row */
    LEAF_IDS = (LEAF_BYTES - 2) * 8 /* in one leaf, at most */
};

#define LEAF_ID_MAX (INT64_MAX - 127) /* of a record, so that windows have an end */

struct leaf {
    int64_t base;
    int32_t n;       /* ids; 0 in a result: the row goes */
    struct str docs; /* the bytes */
};

struct leaves {
    struct leaf *items;
    size_t count;
    size_t cap;
};

/* The ids of a leaf into room for LEAF_IDS; LEAF_BAD: count, order, length or format do not fit. */
int leaf_decode(const struct leaf *leaf, int64_t *ids, size_t *ret_count) MUSTCHECK;
/* Whether it could be decoded. */
bool leaf_valid(const struct leaf *leaf);
/* Sets the bits of its ids inside [lo, lo + span) in words of 64: lo and span are multiples of
 * that. LEAF_BAD, and then some may be set. */
int leaf_mark(const struct leaf *leaf, uint64_t *words, int64_t lo, size_t span) MUSTCHECK;
/* Its highest id below `below`; -1 if there is none. LEAF_BAD, if that was noticed. */
int leaf_below(const struct leaf *leaf, int64_t below, int64_t *ret_id) MUSTCHECK;
/* The leaf with the ids of `take` out and those of `add` in (both ascending, each once, none below
 * the leaf's base): what is written instead of it. The first of the result has the leaf's base;
 * when nothing is left it has n 0. What does not fit becomes further leaves: of ids behind all that
 * were there the last leaf alone is new (lists mostly grow at their end), otherwise halves. Ids
 * that are there already, or are not, change nothing. `leaf` with n 0 and empty docs: a list that
 * begins. Arena-owned; LEAF_BAD. */
int leaf_change(struct arena *arena,
                const struct leaf *leaf,
                const int64_t *add,
                size_t add_count,
                const int64_t *take,
                size_t take_count,
                struct leaves *ret_leaves) MUSTCHECK;
/* A whole list: ascending ids, each once, in as few leaves as they need; the first has the base
 * that is given. Arena-owned. */
void leaves_build(
    struct arena *arena, int64_t base, const int64_t *ids, size_t count, struct leaves *ret_leaves);
