#pragma once
/*
 * File names as senders write them into headers: in an older character set, as encoded words of
 * mail (RFC 2047), or as the parameter filename* (RFC 8187). The results are not safe to use as
 * paths: they may hold separators and control characters.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* any: Returns a name as UTF-8. A name of encoded words alone is decoded, because .NET clients send
 * such names. Bytes that are not UTF-8 are read as ISO-8859-1. Arena-owned, or `sent` itself. */
struct str filename_decode(struct arena *arena, struct str sent);
/* any: Decodes the value of filename*, "UTF-8'en'na%C3%AFve.txt". False: the value is malformed or
 * empty, or its character set is not UTF-8, US-ASCII or ISO-8859-1. */
bool filename_decode_extended(struct arena *arena, struct str value, struct str *ret_name);
