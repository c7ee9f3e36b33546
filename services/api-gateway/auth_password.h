#pragma once
/*
 * Passwords of accounts, checked and hashed on worker threads and counted in
 * groundwork_password_hashes_total. The check for an unknown account costs as much as for a known
 * one.
 */
#include "app.h"

/* any: Checks that a new password has at least the project's number of characters and at most
 * PASSWORD_MAX_BYTES. Otherwise puts 400 naming `field`. */
int auth_password_policy(struct req *r, const char *field, struct str password) MUSTCHECK;

/* co: Hashes a password, whose length was checked before; *ret_hash is arena-owned. Puts 503 when
 * too many passwords wait to be hashed. */
AWAITS int auth_password_hash(struct req *r, struct str password, struct str *ret_hash) MUSTCHECK;

/* any: Returns the hash to compare with for an account that does not exist or has no password. This
 * hash is always the same for one e-mail address, and no password matches it. Arena-owned. */
struct str auth_password_decoy_hash(struct req *r, struct str email);

/* co: Compares the password with `hash`. *ret_rehash is a new, arena-owned hash when `hash` is
 * weaker than new hashes are, otherwise STR_NONE. Puts 503 as auth_password_hash() does. */
AWAITS int auth_password_check(struct req *r,
                               struct str hash,
                               struct str password,
                               bool *ret_right,
                               struct str *ret_rehash) MUSTCHECK;
