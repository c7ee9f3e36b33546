#pragma once
/*
 * Literals of numbers that a double cannot hold, kept behind the nodes of
 * jansson's tree for jr_literal().
 */
#include <jansson.h>
#include <stdbool.h>

#include "base/str.h"

/* any: the end of the number that begins at `at`; *ret_integer says whether it has digits only. */
size_t number_end(struct str text, size_t at, bool *ret_integer);
/* any: moves *at behind the next number of a JSON text; STR_NONE when there is none. */
struct str number_next(struct str text, size_t *at);
/* any: an integer literal is outside int64. */
bool number_is_wide(struct str digits);
/* any: `root` was read of `text`: reals that would be printed in other words remember theirs. The
 * root is replaced when it is one. */
void number_keep_literals(json_t **root, struct str text);
