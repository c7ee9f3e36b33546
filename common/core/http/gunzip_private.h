#pragma once
/* Members of gzip (RFC 1952), one behind the other, a few kilobytes at a time. */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct gunzip; /* with its memory, some 40 KB, in an arena */

struct gunzip *gunzip_new(struct arena *arena);
/* any: cuts off the front of *input what `room` bytes of `out` take, 16 KB at most, so that a call
 * takes a fraction of a millisecond. *ret_made 0 with no input left: it needs more. False: this is
 * not gzip. */
bool gunzip_some(struct gunzip *gunzip, struct str *input, char *out, size_t room, size_t *ret_made)
    MUSTCHECK;
/* any: the input ended with a member. */
bool gunzip_is_whole(const struct gunzip *gunzip);
