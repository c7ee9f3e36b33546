#pragma once
/*
 * Password hashes: Argon2id (RFC 9106) with 19 MiB, t=2, p=1, 16 bytes of salt, 32 of tag, as PHC
 * strings ("$argon2id$v=19$m=19456,t=2,p=1$salt$tag"). Hashing is slow by design and blocks: call
 * it on a worker thread (work_run with WORK_HASH), never on the loop. Any thread. A password is any
 * bytes, also NUL. A password that is UTF-8 is hashed in NFC (RFC 8265 section 4.2), so that all
 * keyboards type the same password. Callers refuse passwords above PASSWORD_MAX_BYTES before they
 * call these functions.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

/* With the sanitizer a hash of 19 MiB takes five times as long, because each of its pages faults
 * and freed memory is not reused. Tests make thousands of hashes. */
#if defined(GW_SANITIZE)
#define PASSWORD_MEMORY_KIB 64
#else
#define PASSWORD_MEMORY_KIB 19456
#endif
#define PASSWORD_MAX_BYTES  1024
#define PASSWORD_SEED_BYTES 48
#define PASSWORD_OK         0

/* Returns the PHC string of a password, arena-owned. No other thread may use the arena at the same
 * time: the task that owns the arena waits. */
struct str password_hash(struct arena *arena, struct str password);
/* Returns the number of code points of a password in NFC; fast enough for the loop. */
size_t password_length(struct str password);
/* Returns PASSWORD_OK, PASSWORD_OK_REHASH or PASSWORD_WRONG. A password that is not in NFC is also
 * tried as its bytes, for hashes made before passwords were normalised; a match returns
 * PASSWORD_OK_REHASH. The second try costs a second hash, for existing and unknown accounts alike.
 * Also returns PASSWORD_WRONG when `phc` is not an Argon2id PHC string, or its parameters are above
 * 256 MiB, t=16, p=4, so that a hash cannot choose how long we compute. */
int password_verify(struct str phc, struct str password) MUSTCHECK;
/* Returns a PHC string with the current parameters that no password matches, arena-owned; equal
 * seeds give equal strings. For unknown accounts: verifying a password against this string costs as
 * much as against the hash of an existing account. The cost of Argon2id depends slightly on the
 * salt, so one salt for all unknown accounts would reveal which accounts exist. */
struct str password_dummy_hash(struct arena *arena, const uint8_t seed[PASSWORD_SEED_BYTES]);
