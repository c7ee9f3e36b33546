#pragma once
/*
 * The mask that answers show in place of a stored secret, and the meaning of a mask that a caller
 * sends. Any thread; texts are borrowed.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

#define SECRET_MASK "********"

/* The message of a validation error on a member of a body. */
#define SECRET_MASK_WRONG                                                                          \
    "contains " SECRET_MASK " but is not the stored secret as answers show it: send the secret "   \
    "itself, or the text exactly as you read it"

enum secret_input {
    SECRET_NEW,        /* no mask: store the text */
    SECRET_SAME,       /* the mask as answers show it: keep the stored secret */
    SECRET_WRONG_MASK, /* any other mask: refuse it with SECRET_MASK_WRONG */
};

/* any: Returns what `text` means for a secret that answers show as `shown` (STR_NONE: no secret is
 * stored). `text` may be `shown` alone, or `shown` after the name of an authentication scheme, as
 * in "Bearer ********". */
enum secret_input secret_classify(struct str text, struct str shown);

/* any: Returns whether a header, parameter or member of this name holds a credential, judging by
 * the words in the name (Authorization, X-Api-Key, accessToken, client_secret, ...). */
bool secret_is_credential_name(struct str name);
/* any: Returns a credential as answers show it: the authentication scheme that it begins with, if
 * any, then the mask. Arena-owned or static. */
struct str secret_hide(struct arena *arena, struct str credential);
/* any: Returns the URL with a mask for the value of each query parameter that
 * secret_is_credential_name() recognises. Arena-owned, or `url` itself when it has no query. */
struct str secret_url_mask(struct arena *arena, struct str url);
