#pragma once
/*
 * Literals of numbers whose text a double cannot reproduce. Stored after the nodes of jansson's
 * tree, for jr_literal().
 */
#include <jansson.h>
#include <stdbool.h>

#include "base/str.h"

/* any: Returns the end of the number that begins at `at`. *ret_integer: no fraction or exponent. */
size_t number_end(struct str text, size_t at, bool *ret_integer);
/* any: Returns the next number of a JSON text and moves *at to its end, else STR_NONE. */
struct str number_next(struct str text, size_t *at);
/* any: Whether an integer literal is outside int64. */
bool number_is_wide(struct str digits);
/* any: Stores the literals of `text` in the reals of `*root`, which was parsed from `text`, where
 * printing the double would give another text. Replaces *root when *root itself is such a real. */
void number_attach_literals(json_t **root, struct str text);
