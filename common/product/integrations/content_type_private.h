#pragma once
/* Content-Type of requests and answers (RFC 9110, 8.3). Any thread. */
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
