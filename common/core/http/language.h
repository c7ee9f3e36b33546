#pragma once
/* Accept-Language (RFC 9110 section 12.5.4): what a reader wants, best first. */
#include <stddef.h>

#include "base/str.h"

#define LANGUAGES_MAX 16

struct languages {
    struct str tags[LANGUAGES_MAX]; /* borrowed from the header; "*" takes anything */
    unsigned weights[LANGUAGES_MAX];
    size_t count;
};

/* any: the first sixteen ranges of the header that can be read; those of q=0 are left out. */
void languages_parse(struct str header, struct languages *ret_languages);
/* any: which of the tags the reader gets (RFC 4647, 3.4: a range gives up its last subtag until one
 * fits; then a tag that says more than the range does), -1 when none fits. */
int languages_pick(const struct languages *languages, const struct str *tags, size_t count);
/* any: letters, digits and '-': "de", "pt-BR", "zh-Hant-TW". */
bool languages_tag_ok(struct str tag);
