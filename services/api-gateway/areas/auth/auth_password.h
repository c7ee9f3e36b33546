#pragma once
/*
 * Passwords of accounts: checked and hashed on worker threads, counted in
 * groundwork_password_hashes_total. An unknown account costs what a known one costs.
 */
#include "app.h"

/* Before fork: registers the counters. */
void auth_password_prepare(void);

/* any: fewest characters by the project's setting, at most PASSWORD_MAX_BYTES; 400 naming
 * `field`. */
int auth_password_policy(struct req *r, const char *field, struct str password) MUSTCHECK;

/* co: arena-owned hash. 503 when too many wait. The length was checked before. */
AWAITS int auth_password_hash(struct req *r, struct str password, struct str *ret_hash) MUSTCHECK;

/* any: the hash of an account that does not exist, or has no password: always the same for one
 * address, and wrong. */
struct str auth_password_of_nobody(struct req *r, struct str email);

/* co: compares with `hash`.
 * *ret_rehash is a new hash when the stored one is weaker than today's, else STR_NONE. */
AWAITS int auth_password_check(struct req *r,
                               struct str hash,
                               struct str password,
                               bool *ret_right,
                               struct str *ret_rehash) MUSTCHECK;
