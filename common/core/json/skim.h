#pragma once
/*
 * A few members out of a JSON text, without a tree: the whole text is checked as jr_parse() checks
 * it (but for duplicate keys that nobody asks about; numbers have at most 512 characters), at a
 * tenth of the cost. For texts that are stored as they came and read by somebody else. Any thread.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

#define SKIM_WANTED_MAX 16
#define SKIM_DEPTH_MAX  8 /* of what is wanted */

enum skim_kind { SKIM_MISSING, SKIM_STRING, SKIM_NUMBER, SKIM_OTHER };

struct skim {
    const char *path; /* "data.object.id": keys without dots, outside of arrays */
    enum skim_kind kind;
    struct str text; /* STRING: decoded, of the text itself or the arena; NUMBER: as written */
};

/* 0 with every item filled, or SKIM_INVALID with *ret_reason (static). */
int skim(struct arena *arena,
         struct str text,
         struct skim *items,
         size_t count,
         const char **ret_reason) MUSTCHECK;
