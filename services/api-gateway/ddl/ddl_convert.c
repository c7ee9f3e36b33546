/* Conversions of columns from one type to another. model_type.def has the conversions of texts. */
#include "ddl/ddl.h"

/* Integers that a double cannot hold exactly. */
#define INEXACT "abs(%s::numeric) > 9007199254740992"

static const struct {
    enum model_type from, to;
    struct ddl_conversion conversion;
} conversions[] = {
    {TYPE_INTEGER, TYPE_FLOAT, {"%s::double precision", INEXACT}},
    {TYPE_INTEGER, TYPE_DECIMAL, {"%s::numeric", NULL}},
    {TYPE_FLOAT, TYPE_DECIMAL, {"%s::text::numeric", NULL}},
    {TYPE_JSON, TYPE_TEXT, {"%s::text", NULL}},
};

bool ddl_conversion_find(enum model_type from,
                         enum model_type to,
                         struct ddl_conversion *ret_conversion)
{
    const struct model_type_info *old = model_type_info(from);
    const struct model_type_info *next = model_type_info(to);

    for (size_t i = 0; i < ARRAY_LEN(conversions); i++) {
        if (conversions[i].from != from || conversions[i].to != to)
            continue;
        *ret_conversion = conversions[i].conversion;
        return true;
    }
    if (next->traits & TRAIT_TEXT)
        *ret_conversion = (struct ddl_conversion){old->to_text, NULL};
    else
        *ret_conversion = (struct ddl_conversion){next->from_text, next->not_text};
    return ret_conversion->using != NULL && ((old->traits | next->traits) & TRAIT_TEXT) != 0;
}

const char *ddl_conversion_text(struct arena *arena, const char *pattern, struct str column)
{
    struct strbuf out;

    strbuf_init(&out, arena, 4096);
    for (; *pattern; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 's') {
            strbuf_str(&out, column);
            pattern++;
        } else {
            strbuf_char(&out, *pattern);
        }
    }
    return strbuf_cstring(&out);
}
