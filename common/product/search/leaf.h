#pragma once
/*
 * Posting lists as bytes. A posting list holds the ids of the records that have a term in a field.
 * It is stored in rows of search_postings, called leaves: ascending ids in at most 1,900 bytes.
 * Pure; any thread.
 *
 * A leaf's base is the lowest id that it may hold. A list that began with changes of records has a
 * first leaf with base 0; a rebuild takes the first id as the first base. The writer chooses the
 * shorter of two formats: deltas, or bits (from about one id in eight on). Every function returns
 * LEAF_BAD for malformed bytes.
 *
 * Deltas are the number 3 and varints (LEB128), the highest id first: highest - base, then the
 * distance of each id from the one above it. Lists mostly grow at their end, which comes first
 * here, so the bytes after it stay as they were. For a changed row PostgreSQL logs only the bytes
 * between the parts that did not change. Bits are the number 2, the varint of the first id divided
 * by eight, and the bits from there on, lowest first; the last byte is not 0. Leaves of older
 * versions can be read as well: the number 1 and the varints of first id - base and of each id -
 * previous id.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

enum {
    LEAF_BYTES = 1900,              /* small enough for PostgreSQL to keep it in its row */
    LEAF_IDS = (LEAF_BYTES - 2) * 8 /* in one leaf, at most */
};

#define LEAF_ID_MAX (INT64_MAX - 127) /* of a record: the ends of windows must not overflow */

struct leaf {
    int64_t base;
    int32_t n;       /* ids; 0 in a result: the row is deleted */
    struct str docs; /* the bytes */
};

struct leaves {
    struct leaf *items;
    size_t count;
    size_t cap;
};

/* Stores the ids of a leaf in `ids`, which has room for LEAF_IDS. LEAF_BAD: count, order, length or
 * format are wrong. */
int leaf_decode(const struct leaf *leaf, int64_t *ids, size_t *ret_count) MUSTCHECK;
/* Whether leaf_decode() would succeed. */
bool leaf_valid(const struct leaf *leaf);
/* Sets the bits of the ids inside [lo, lo + span), in words of 64; lo and span are multiples of 64.
 * LEAF_BAD: some bits may have been set. */
int leaf_mark(const struct leaf *leaf, uint64_t *words, int64_t lo, size_t span) MUSTCHECK;
/* The leaf's highest id below `below`; -1: none. Notices malformed bytes (LEAF_BAD) only where it
 * reads. */
int leaf_below(const struct leaf *leaf, int64_t below, int64_t *ret_id) MUSTCHECK;
/* The leaf without the ids of `take` and with those of `add` (both ascending, each once, none below
 * the leaf's base). Ids that are already there, or already gone, change nothing. *ret_leaves
 * replaces the leaf: its first item has the leaf's base, and n 0 if no id is left. Ids that do not
 * fit go into further leaves. If all of `add` are above the ids of the leaf, the leaf stays full,
 * because lists mostly grow at their end; otherwise the ids are divided evenly. A `leaf` with n 0
 * and empty docs begins a list. Arena-owned; LEAF_BAD. */
int leaf_change(struct arena *arena,
                const struct leaf *leaf,
                const int64_t *add,
                size_t add_count,
                const int64_t *take,
                size_t take_count,
                struct leaves *ret_leaves) MUSTCHECK;
/* Builds a whole list from ascending ids, each once, in as few leaves as possible; `base` is the
 * base of the first. Arena-owned. */
void leaves_build(
    struct arena *arena, int64_t base, const int64_t *ids, size_t count, struct leaves *ret_leaves);
