#pragma once
/*
 * Password hashes: Argon2id (RFC 9106) with 19 MiB, t=2, p=1, 16 bytes of salt, 32 of tag, as PHC
 * strings ("$argon2id$v=19$m=19456,t=2,p=1$salt$tag"). Blocking and slow by design: call on a
 * worker thread (work_run with WORK_HASH), never on the loop. Thread-safe. Passwords are any bytes
 * including NUL; a password that is UTF-8 is hashed in NFC (RFC 8265 section 4.2), so that all
 * keyboards type the same one. Callers refuse more than PASSWORD_MAX_BYTES before they get here.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

/* Under the sanitizer a hash of 19 MiB takes five times as long: each of its pages is a fault, and
 * freed memory is not used again. Tests make thousands of hashes. */
#if defined(GW_SANITIZE)
#define PASSWORD_MEMORY_KIB 1024
#else
#define PASSWORD_MEMORY_KIB 19456
#endif
#define PASSWORD_MAX_BYTES  1024
#define PASSWORD_SEED_BYTES 48
#define PASSWORD_OK         0

/* Arena-owned PHC string. Nobody else may use the arena meanwhile: the task that owns it waits. */
struct str password_hash(struct arena *arena, struct str password);
/* The code points of a password in NFC; any thread, and fast enough for the loop. */
size_t password_length(struct str password);
/* PASSWORD_OK, PASSWORD_OK_REHASH or PASSWORD_WRONG. A password that is not in NFC is tried as its
 * bytes too, for hashes made before passwords were normalised: PASSWORD_OK_REHASH. It costs a
 * second hash, whatever `phc` is. PASSWORD_WRONG for anything too that is not an Argon2id PHC
 * string, or one with parameters beyond 256 MiB, t=16, p=4 (nobody gets to choose how long we
 * compute). */
int password_verify(struct str phc, struct str password) MUSTCHECK;
/* A PHC string of no password with today's parameters, the same for the same seed; arena-owned. For
 * unknown accounts: verified like any other, it costs what theirs would. What Argon2id costs
 * depends a little on the salt, so one salt for all of them would tell them apart. */
struct str password_of_nobody(struct arena *arena, const uint8_t seed[PASSWORD_SEED_BYTES]);
