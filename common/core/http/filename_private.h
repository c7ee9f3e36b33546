#pragma once
/*
 * Names of files as senders write them into headers: bytes of an older character set, the encoded
 * words of mail (RFC 2047), and the parameter filename* (RFC 8187). Nothing here makes a name safe
 * to use: it may hold separators and control characters.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* any: a name as UTF-8. A name that is made of encoded words alone is decoded, as clients of .NET
 * send it; bytes that are not UTF-8 are ISO-8859-1. Arena-owned, or `sent` itself. */
struct str filename_decode(struct arena *arena, struct str sent);
/* any: the value of filename*, "UTF-8'en'na%C3%AFve.txt". False: it is malformed, empty, or of a
 * character set other than UTF-8, US-ASCII and ISO-8859-1. */
bool filename_decode_extended(struct arena *arena, struct str value, struct str *ret_name);
