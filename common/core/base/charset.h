#pragma once
/*
 * Texts in other charsets than UTF-8. The list of charsets is closed: a peer's word loads no
 * decoder that is not on it. Any thread; the first text of a charset reads a file of glibc, and a
 * megabyte takes some milliseconds, so that loops call this on a thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

/* any: is it a name of UTF-8, or of ASCII, which is a part of it? ASCII case-insensitive. */
bool charset_is_utf8(struct str name);
/* any: `bytes` as UTF-8, at most `most` bytes, arena-owned. 0, CHARSET_UNKNOWN (no charset of the
 * list), CHARSET_INVALID (bytes that the charset does not have), CHARSET_TOO_LARGE. `utf-16`
 * without a byte order is read in the order in which more of its characters are ASCII;
 * `iso-8859-1` is read as windows-1252, as browsers do, where all bytes are of that. */
int charset_decode(struct arena *arena,
                   struct str name,
                   struct str bytes,
                   size_t most,
                   struct str *ret_text) MUSTCHECK;
