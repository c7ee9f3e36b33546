#pragma once
/*
 * Signing keys of projects ({p}.settings, kind signing_key): one is active, retired ones stay known
 * until the last token they signed has ended. The private part is sealed for its place; opened keys
 * are kept in this process, a bounded number of them.
 */
#include "app.h"

/* co: `claims` (JSON) as a signed access token. `key` is a row of signing_key_active. */
AWAITS int
auth_key_sign(struct req *r, const struct rows *key, struct str claims, struct str *ret_token)
    MUSTCHECK;
/* co: makes a new active key and forgets those that retired long ago. */
AWAITS int auth_key_rotate(struct req *r, struct str *ret_kid) MUSTCHECK;
