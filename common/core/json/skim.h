#pragma once
/*
 * Reads a few members of a JSON text without building a tree, at a tenth of the cost of jr_parse().
 * The whole text is checked as jr_parse() checks it, with three differences: duplicate keys are
 * found only on the wanted paths, numbers of more than 512 characters are refused, and numbers that
 * fit a double but not jsonb (1e-20000) are accepted. For texts that are stored unchanged and
 * parsed later by other code. Any thread.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

#define SKIM_PATHS_MAX 16
#define SKIM_DEPTH_MAX 8 /* keys of a wanted path */

enum skim_kind { SKIM_MISSING, SKIM_STRING, SKIM_NUMBER, SKIM_OTHER };

struct skim_item {
    const char *path; /* "data.object.id": keys without dots, outside of arrays */
    enum skim_kind kind;
    struct str text; /* STRING: decoded, borrowed from the text or the arena; NUMBER: as written */
};

/* Fills kind and text of every item; kind is SKIM_MISSING when the text has no such path. Returns
 * 0, or SKIM_INVALID with a static text in *ret_reason. `count`: at most SKIM_PATHS_MAX. */
int skim_parse(struct arena *arena,
               struct str text,
               struct skim_item *items,
               size_t count,
               const char **ret_reason) MUSTCHECK;
