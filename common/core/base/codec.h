#pragma once
/* Text encodings. Results are arena-owned. The decoders of base64 and hexadecimal return false for
 * any text that is not canonical. Any thread. */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/strbuf.h"

/* Encodes as base64url without padding (RFC 4648 section 5). */
struct str codec_b64url(struct arena *arena, struct str bytes);
/* Decodes base64url. Refuses padding, other alphabets, and non-zero trailing bits. */
bool codec_b64url_decode(struct arena *arena, struct str text, struct str *ret_bytes);
/* Encode as base64 with padding (RFC 4648 section 4), and decode. */
struct str codec_b64(struct arena *arena, struct str bytes);
bool codec_b64_decode(struct arena *arena, struct str text, struct str *ret_bytes);
/* Encode as hexadecimal, and decode; lower case only. */
struct str codec_hex(struct arena *arena, struct str bytes);
bool codec_hex_decode(struct arena *arena, struct str text, struct str *ret_bytes);
/* Decodes percent-encoding once (RFC 3986 section 2.1). `plus_is_space` is for query and form text.
 * Returns false for a malformed escape, a NUL, or bytes that are not UTF-8. Borrows `text` when
 * nothing is escaped. */
bool codec_percent_decode(struct arena *arena,
                          struct str text,
                          bool plus_is_space,
                          struct str *ret);
/* Percent-encodes all but unreserved characters (RFC 3986 section 2.3). */
struct str codec_percent(struct arena *arena, struct str text);
/* Percent-encodes only bytes that are not ASCII: makes the path or query of a URL from that of an
 * IRI (RFC 3987 section 3.1). */
struct str codec_percent_ascii(struct arena *arena, struct str text);
/* Appends "name=value", percent-encoded, to a text of application/x-www-form-urlencoded, with a "&"
 * before it unless the text is empty. */
void codec_form_add(struct strbuf *form, struct str name, struct str value);
