#pragma once
/*
 * Where a walk over a JSON value is, for findings. Places live on the stack of
 * the walk and are printed only when there is something to say.
 */
#include "base/arena.h"
#include "base/str.h"

struct place {
    const struct place *parent; /* NULL = the root */
    struct str name;            /* member, or a printed path; without a pointer: an array item */
    size_t index;
    struct str label; /* of an item, shown in parentheses: a step's key */
};

/* any: "steps[2] (save).params.entity", arena-owned; empty for NULL. */
struct str place_print(struct arena *arena, const struct place *place);
