#pragma once
/* One-dimensional PostgreSQL arrays in text form: "{1,2}", "{a,\"b c\",NULL}". */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct array_item {
    struct str text; /* borrowed from the array's text, escapes still in it */
    bool null;
    bool escaped; /* holds backslashes: array_unescape() */
};

/* Cuts the next item off *rest (the whole text at first); false at the end. */
bool array_next(struct str *rest, struct array_item *ret_item);
/* The item's text without escapes: itself, or a copy in the arena. */
struct str array_unescape(struct arena *arena, const struct array_item *item);
