/* Parses Content-Type. */
#include "integrations/content_type.h"

static struct str unquoted(struct str text)
{
    if (text.len >= 2 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"')
        return (struct str){text.ptr + 1, text.len - 2};
    return text;
}

struct content_type content_type_read(struct arena *arena, struct str value)
{
    struct str rest = value;
    struct content_type read = {.type = arena_lower(arena, str_trim(str_split(&rest, ';')))};

    while (rest.ptr != NULL) {
        struct str text = str_split(&rest, ';');
        struct str name = str_trim(str_split(&text, '='));
        if (str_ieq(name, STR("charset")) && read.charset.len == 0)
            read.charset = unquoted(str_trim(text));
    }
    return read;
}

bool content_type_is_json(const struct content_type *content_type)
{
    struct str type = content_type->type;

    return str_is(type, "application/json") || str_is(type, "text/json") ||
           str_ends(type, STR("+json"));
}

bool content_type_is_text(const struct content_type *content_type)
{
    struct str type = content_type->type;

    if (content_type_is_json(content_type) || str_is(type, "text/javascript"))
        return false;
    return str_starts(type, STR("text/")) || str_is(type, "application/xml") ||
           str_ends(type, STR("+xml")) || str_is(type, "application/x-www-form-urlencoded");
}

bool content_type_takes_text(const struct content_type *content_type, const json_t *body)
{
    return json_is_string(body) && content_type->type.len > 0 &&
           !content_type_is_json(content_type);
}
