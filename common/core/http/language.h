#pragma once
/* Accept-Language (RFC 9110 section 12.5.4): the languages that a client prefers, best first. */
#include <stddef.h>

#include "base/str.h"

#define LANGUAGES_MAX 16

struct languages {
    struct str tags[LANGUAGES_MAX]; /* borrowed from the header; "*" matches any language */
    unsigned weights[LANGUAGES_MAX];
    size_t count;
};

/* any: Parses the first sixteen valid ranges of the header. Ranges with q=0 are left out. */
void languages_parse(struct str header, struct languages *ret_languages);
/* any: Returns the index of the best tag for the client, -1 when none fits. A range loses its last
 * subtag until a tag equals it (RFC 4647 section 3.4). Failing that, a longer tag that begins with
 * the whole range fits. */
int languages_pick(const struct languages *languages, const struct str *tags, size_t count);
/* any: Returns whether a tag is well-formed: letters, digits and '-', as in "de", "pt-BR",
 * "zh-Hant-TW". */
bool languages_tag_is_valid(struct str tag);
