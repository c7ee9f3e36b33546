#pragma once
/*
 * The position of a walk over a JSON value, for findings. Places live on the stack of the walk and
 * are printed only for a finding.
 */
#include "base/arena.h"
#include "base/str.h"

struct json_path {
    const struct json_path *parent; /* NULL = the root */
    struct str name;                /* member name, or a printed path; ptr NULL: an array item */
    size_t index;
    struct str label; /* of an array item, shown in parentheses: a step's key */
};

/* any: Prints a place as "steps[2] (save).params.entity". Arena-owned; empty for NULL. */
struct str json_path_print(struct arena *arena, const struct json_path *path);
