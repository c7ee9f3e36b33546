#pragma once
/*
 * Reads members of a JSON object from its text without building a tree, for texts of megabytes of
 * which a few values are needed. The text must be known to be JSON: written by jw, or accepted by
 * jr_parse() or skim_parse(). Any thread.
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

/* any: Returns the position before the first member of an object. Any other JSON value has no
 * members. Borrows the text. */
struct json_members json_members_of(struct str object);
/* any: Reads the next member and moves on. Returns false after the last member. Takes time
 * proportional to the length of the member. */
bool json_members_next(struct json_members *members, struct json_member *ret_member);
/* any: Whether `key`, as written in the text, is `name`. A key with escapes is decoded in `arena`,
 * unless it is too long to be the name. */
bool json_key_is(struct arena *arena, struct str key, const char *name);
/* any: Returns the text of a member's value, or STR_NONE when the object has no such member.
 * `arena` is where keys with escapes are decoded. */
struct str json_member_find(struct arena *arena, struct str object, const char *name);
/* any: Resolves the escapes of a string, given as written between its quotes. Returns `written`
 * itself when it has no escapes, else a text owned by the arena. */
struct str json_text_decode(struct arena *arena, struct str written);
