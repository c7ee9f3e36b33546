#pragma once
/* Content-Type of requests and answers (RFC 9110, 8.3). Any thread. */
#include <jansson.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

struct content_type {
    struct str type;    /* "application/json", in lower case; empty = none */
    struct str charset; /* without quotes; empty = none */
};

/* any: a header's value, which may be STR_NONE. Arena-owned. */
struct content_type content_type_read(struct arena *arena, struct str value);
/* any: JSON by its name: application/json, text/json, anything with +json. */
bool content_type_is_json(const struct content_type *content_type);
/* any: a text that is no JSON, whatever stands in it: text/plain, XML, a form. */
bool content_type_is_text(const struct content_type *content_type);
/* any: a request's body goes out as it is, not as JSON: it is a text of a type that is not JSON. */
bool content_type_takes_text(const struct content_type *content_type, const json_t *body);
