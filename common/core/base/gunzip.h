#pragma once
/*
 * Packed texts, unpacked a few kilobytes at a time: members of gzip (RFC 1952), one behind the
 * other, and HTTP's deflate (RFC 9110, 8.4.1.2).
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct gunzip; /* with its memory, some 40 KB, in an arena */

struct gunzip *gunzip_new(struct arena *arena);
/* The same for `deflate`: zlib's own format (RFC 1950), or what some servers call so: a bare stream
 * (RFC 1951), or gzip. What follows its end is dropped. */
struct gunzip *gunzip_new_deflate(struct arena *arena);
/* any: cuts off the front of *input what `room` bytes of `out` take, 16 KB at most, so that a call
 * takes a fraction of a millisecond. *ret_made 0 with no input left: it needs more. False: this is
 * not its format. */
bool gunzip_some(struct gunzip *gunzip, struct str *input, char *out, size_t room, size_t *ret_made)
    MUSTCHECK;
/* any: the input ended with a member, or with the stream. */
bool gunzip_is_whole(const struct gunzip *gunzip);
