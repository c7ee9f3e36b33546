#pragma once
/*
 * Internal to secrets: finding a text in the forms that it takes on its way (secrets.h lists them).
 * A needle is what is looked for, a reader undoes a coding as it goes: so one search finds "a%2Fb",
 * "a/b" and "%61%2f%62" alike.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

enum mask_form { MASK_PLAIN, MASK_BASE64, MASK_HEX };
struct mask_needle {
    struct str bytes; /* base64 with + and /, hexadecimal in lower case */
    enum mask_form form;
    bool before, after; /* base64: the character beside it holds bits of the text, too */
};
/* The five needles of a text: itself, base64 at three alignments, hexadecimal. */
#define MASK_NEEDLES 5
void mask_needles(struct arena *arena,
                  struct str text,
                  struct mask_needle ret_needles[MASK_NEEDLES]);

struct mask_span {
    size_t from, to;
};
/* Places, in no order, perhaps overlapping; arena-owned. */
struct mask_spans {
    struct arena *arena;
    struct mask_span *items;
    size_t count, room;
};
/* Every place of every needle in `text`, whatever its coding; the whole text when finding them
 * would take long. No needle is empty. */
void mask_find(const struct mask_needle *needles,
               size_t count,
               struct str text,
               struct mask_spans *spans);
