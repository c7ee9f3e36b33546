#pragma once
/*
 * Internal to secrets: finds a text in the forms that it may take before it is stored (secrets.h
 * lists them). A needle is a text to find. A reader undoes an encoding while it reads, so one
 * search finds "a%2Fb", "a/b" and "%61%2f%62" alike.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

enum mask_form { MASK_PLAIN, MASK_BASE64, MASK_HEX };
struct mask_needle {
    struct str bytes; /* base64 with + and /, hexadecimal in lower case */
    enum mask_form form;
    bool shares_char_before,
        shares_char_after; /* base64: the adjacent character holds bits of the text too */
};
/* Makes the five needles of a text: the text itself (borrowed), base64 at three alignments, and
 * hexadecimal (arena-owned). */
#define MASK_NEEDLES 5
void mask_needles(struct arena *arena,
                  struct str text,
                  struct mask_needle ret_needles[MASK_NEEDLES]);

struct mask_span {
    size_t from, to;
};
/* Spans of a text, in no order, perhaps overlapping; arena-owned. */
struct mask_spans {
    struct arena *arena;
    struct mask_span *items;
    size_t count, room;
};
/* Adds a span for every occurrence of every needle in `text`, in any encoding. Adds the whole text
 * when the search would take too long. No needle may be empty. */
void mask_find(const struct mask_needle *needles,
               size_t count,
               struct str text,
               struct mask_spans *spans);
