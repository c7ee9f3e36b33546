#pragma once
/* The header Content-Type of requests and answers (RFC 9110, 8.3). Callable from any thread. */
#include <jansson.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

struct content_type {
    struct str type;    /* "application/json", in lower case; empty = none */
    struct str charset; /* without quotes; empty = none */
};

/* any: Reads a header's value, which may be STR_NONE. `type` is arena-owned, `charset` borrows from
 * `value`. */
struct content_type content_type_read(struct arena *arena, struct str value);
/* any: Returns whether the type is JSON: application/json, text/json, or any type with +json. */
bool content_type_is_json(const struct content_type *content_type);
/* any: Returns whether the type is a text other than JSON: text/plain, XML, a form. */
bool content_type_is_text(const struct content_type *content_type);
/* any: Returns whether a request's body is sent as a plain text instead of as JSON: the body is a
 * JSON string and a type other than JSON is given. */
bool content_type_takes_text(const struct content_type *content_type, const json_t *body);
