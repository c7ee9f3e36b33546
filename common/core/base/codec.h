#pragma once
/* Text encodings; strict decoders: anything not canonical is refused. Any thread. */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/strbuf.h"

/* base64url without padding (RFC 4648 section 5); arena-owned. */
struct str codec_b64url(struct arena *arena, struct str bytes);
/* Refuses padding, other alphabets, and non-zero trailing bits. */
bool codec_b64url_decode(struct arena *arena, struct str text, struct str *ret_bytes);
/* base64 with padding (RFC 4648 section 4). */
struct str codec_b64(struct arena *arena, struct str bytes);
bool codec_b64_decode(struct arena *arena, struct str text, struct str *ret_bytes);
/* Lower case only, in both directions. */
struct str codec_hex(struct arena *arena, struct str bytes);
bool codec_hex_decode(struct arena *arena, struct str text, struct str *ret_bytes);
/* Percent-decoding, once (RFC 3986 section 2.1). `plus_is_space` for query and form text. False on
 * a broken escape, a decoded NUL, or bytes that are not UTF-8. Borrows `text` when nothing is
 * escaped. */
bool codec_percent_decode(struct arena *arena,
                          struct str text,
                          bool plus_is_space,
                          struct str *ret);
/* Escapes all but unreserved characters. */
struct str codec_percent(struct arena *arena, struct str text);
/* Escapes what is not ASCII, and nothing else: a path or query of an IRI as one of a URL (RFC 3987,
 * 3.1). */
struct str codec_percent_ascii(struct arena *arena, struct str text);
/* Adds "name=value" to a text of application/x-www-form-urlencoded, escaped; "&" before it unless
 * it is the first. */
void codec_form_add(struct strbuf *form, struct str name, struct str value);
