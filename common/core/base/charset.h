#pragma once
/*
 * Texts in charsets other than UTF-8. The list of charsets is fixed, so a name that a peer sends
 * cannot load any other decoder. Any thread. Decoding the first text of a charset reads a file of
 * glibc, and a megabyte of text takes some milliseconds, so event loops call charset_decode() on a
 * worker thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

/* any: Returns whether the name means UTF-8, or ASCII, which is a subset of UTF-8. ASCII
 * case-insensitive. */
bool charset_is_utf8(struct str name);
/* any: Converts `bytes` to UTF-8 of at most `most` bytes, arena-owned. Returns 0, CHARSET_UNKNOWN
 * (the list has no such charset), CHARSET_INVALID (bytes that the charset does not define) or
 * CHARSET_TOO_LARGE. `utf-16` is decoded in the byte order in which more of the characters are
 * ASCII. `iso-8859-1` is decoded as windows-1252, as browsers do, unless windows-1252 does not
 * define all of the bytes. */
int charset_decode(struct arena *arena,
                   struct str name,
                   struct str bytes,
                   size_t most,
                   struct str *ret_text) MUSTCHECK;
