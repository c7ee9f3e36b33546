#pragma once
/*
 * The mask that answers show in place of a stored secret, and what a caller means that sends one
 * back. Any thread; texts are borrowed.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

#define SECRET_MASK "********"

/* For the finding on a member of a body. */
#define SECRET_MASK_WRONG                                                                          \
    "has " SECRET_MASK " in it, which is not how the stored secret is shown: send the secret "     \
    "itself, or the text as it was read"

enum secret_given {
    SECRET_NEW,        /* a text of its own, to be stored */
    SECRET_SAME,       /* the stored secret stays as it is */
    SECRET_WRONG_MASK, /* a mask of something else: refused with SECRET_MASK_WRONG */
};

/* any: what a text stands for where answers show `shown` (STR_NONE: nothing is stored). It is the
 * same alone and behind the name of an authentication scheme, as in "Bearer ********". */
enum secret_given secret_given(struct str text, struct str shown);

/* any: whether a header, parameter or member of this name holds a credential: one of the name's
 * words says so (Authorization, X-Api-Key, accessToken, client_secret, ...). */
bool secret_name(struct str name);
/* any: a credential as it is shown: a mask, behind the authentication scheme that it begins with.
 * Arena-owned. */
struct str secret_hide(struct arena *arena, struct str credential);
/* any: a URL in which the values of query parameters whose names say so are masked. Arena-owned, or
 * `url` itself. */
struct str secret_url(struct arena *arena, struct str url);
