#pragma once
/* One-dimensional PostgreSQL arrays in text form: "{1,2}", "{a,\"b c\",NULL}". */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct array_item {
    struct str text; /* borrowed from the text of the array, with its escapes */
    bool null;
    bool escaped; /* has backslashes: array_unescape() */
};

/* Takes the next item off *rest, which is the whole text at first. Returns false at the end. */
bool array_next(struct str *rest, struct array_item *ret_item);
/* The text of an item without escapes: borrowed, or a copy in the arena when it has escapes. */
struct str array_unescape(struct arena *arena, const struct array_item *item);
