/* Reads members of objects from JSON texts. */
#include "json/members.h"

#include "base/ascii.h"
#include "json/jr.h"

#define ESCAPE_BYTES 6 /* longest escape of a character: \uXXXX */

static void members_skip(struct json_members *members, const char *set)
{
    while (members->at < members->end && ascii_is_in(*members->at, set))
        members->at++;
}

/* Whether the quote belongs to the string: an odd number of backslashes precedes it. */
static bool is_escaped_quote(const char *from, const char *quote)
{
    const char *at = quote;

    while (at > from && at[-1] == '\\')
        at--;
    return (quote - at) % 2 != 0;
}

/* Moves from the opening quote past the closing quote. Returns the text between the quotes. */
static struct str members_read_text(struct json_members *members)
{
    const char *from = ++members->at;
    const char *quote;

    do {
        quote = memchr(members->at, '"', (size_t)(members->end - members->at));
        members->at = quote != NULL ? quote + 1 : members->end;
    } while (quote != NULL && is_escaped_quote(from, quote));
    return (struct str){from, (size_t)((quote != NULL ? quote : members->end) - from)};
}

/* Moves from a bracket past the bracket that closes it. */
static void members_skip_scope(struct json_members *members)
{
    size_t depth = 0;

    do {
        char c = *members->at;
        if (c == '"') {
            (void)members_read_text(members);
            continue;
        }
        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
        members->at++;
    } while (depth > 0 && members->at < members->end);
}

static struct str members_read_value(struct json_members *members)
{
    const char *from = members->at;

    if (*from == '"')
        (void)members_read_text(members);
    else if (*from == '{' || *from == '[')
        members_skip_scope(members);
    else
        while (members->at < members->end && !ascii_is_in(*members->at, ",}] \t\r\n"))
            members->at++;
    return (struct str){from, (size_t)(members->at - from)};
}

struct json_members json_members_of(struct str object)
{
    struct json_members members = {object.ptr, object.ptr + object.len};

    members_skip(&members, " \t\r\n");
    if (members.at < members.end && *members.at == '{')
        members.at++;
    else
        members.at = members.end;
    return members;
}

bool json_members_next(struct json_members *members, struct json_member *ret_member)
{
    members_skip(members, " \t\r\n,");
    if (members->at == members->end || *members->at != '"')
        return false;
    ret_member->key = members_read_text(members);
    members_skip(members, " \t\r\n:");
    if (members->at == members->end)
        return false;
    ret_member->value = members_read_value(members);
    return true;
}

struct str json_text_decode(struct arena *arena, struct str written)
{
    struct jr_error error;
    json_t *text;

    if (written.len == 0 || memchr(written.ptr, '\\', written.len) == NULL ||
        jr_parse(arena, arena_printf(arena, "\"%.*s\"", STR_ARG(written)), &text, &error) != 0)
        return written;
    return (struct str){json_string_value(text), json_string_length(text)};
}

bool json_key_is(struct arena *arena, struct str key, const char *name)
{
    return str_is(key, name) ||
           (key.len <= ESCAPE_BYTES * strlen(name) && str_is(json_text_decode(arena, key), name));
}

struct str json_member_find(struct arena *arena, struct str object, const char *name)
{
    struct json_members members = json_members_of(object);
    struct json_member member;

    while (json_members_next(&members, &member))
        if (json_key_is(arena, member.key, name))
            return member.value;
    return STR_NONE;
}
