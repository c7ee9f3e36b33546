#pragma once
/*
 * Signing keys of projects ({p}.settings, kind signing_key). One key is active. Retired keys stay
 * published until the last token that they signed has expired. The private part is sealed for its
 * row. Each process caches a bounded number of opened keys.
 */
#include "app.h"

/* co: Signs `claims` (JSON) as an access token; *ret_token is arena-owned. `key`: the row of
 * signing_key_active. Puts 500 when the key cannot be opened. */
AWAITS int
auth_key_sign(struct req *r, const struct rows *key, struct str claims, struct str *ret_token)
    MUSTCHECK;
/* co: Makes a new active key, and deletes the keys that retired more than 25 hours ago. *ret_kid is
 * arena-owned. */
AWAITS int auth_key_rotate(struct req *r, struct str *ret_kid) MUSTCHECK;
