#pragma once
/*
 * The members of an object, read out of its text without a tree, for texts of megabytes of which a
 * few values are needed. The text must be JSON: jr_parse(), jw or skim() has seen it. Any thread.
 */
#include "base/arena.h"
#include "base/str.h"

struct json_member {
    struct str key;   /* as written, without its quotes */
    struct str value; /* the text of the value */
};

struct json_members {
    const char *at, *end;
};

/* any: the members of an object's text; another value has none. Borrows the text. */
struct json_members json_members_of(struct str object);
/* any: the next member; false after the last. Takes as long as the member has bytes. */
bool json_members_next(struct json_members *members, struct json_member *ret_member);
/* any: whether a key, as it is written, is `name`. `arena` is for keys that are written with
 * escapes; a key that is too long to be the name is not decoded. */
bool json_key_is(struct arena *arena, struct str key, const char *name);
/* any: the text of a member, STR_NONE when the object has no such one; the arena as above. */
struct str json_member_find(struct arena *arena, struct str object, const char *name);
/* any: a text as it was written between its quotes, without its escapes; in the arena when it has
 * some. */
struct str json_text_decode(struct arena *arena, struct str written);
