#pragma once
/*
 * Compact JWS / JWT (RFC 7515, 7519), strict: exactly three canonical base64url parts, header and
 * payload JSON objects without duplicate names and nested at most 8 deep. The verify function that
 * the caller chooses determines the algorithm, never the token. jwk, jku, x5u and x5c are ignored;
 * a token with crit or b64 is refused. Any thread, each with its own arena.
 *
 * Order of use: jws_parse, find the key by kid, jws_verify_*, jws_claims_check, then read claims.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct ec_key;
struct rsa_key;

#define JWS_MAX_BYTES 8192

/* Clients get the same answer for all JWS_* results; the names are for logs and tests. */

/* A parsed token that is not verified. All members are arena-owned, but signing_input borrows from
 * the token that was parsed. The arena releases the JSON objects. */
struct jws {
    struct str alg;           /* always present */
    struct str kid;           /* STR_NONE when absent */
    struct str typ;           /* STR_NONE when absent */
    const json_t *header;     /* for members that this module does not know; untrusted */
    const json_t *claims;     /* the payload object; untrusted until verified */
    struct str claims_json;   /* the payload as text */
    struct str signing_input; /* "header.payload" as received */
    struct str signature;     /* decoded, not empty */
};

/* Parses a token of at most JWS_MAX_BYTES. Returns 0 or JWS_BAD. */
int jws_parse(struct arena *arena, struct str token, struct jws *ret_jws) MUSTCHECK;
/* jws_parse() with another size limit (app store notifications contain certificates). */
int jws_parse_limit(struct arena *arena, struct str token, size_t max_bytes, struct jws *ret_jws)
    MUSTCHECK;

/* Verifies an ES256 signature. Returns 0, JWS_BAD_ALG or JWS_BAD_SIGNATURE. */
int jws_verify_es256(const struct jws *jws, const struct ec_key *key) MUSTCHECK;
/* Verifies an RS256 signature with a public key: `n` and `e` are its modulus and exponent as
 * big-endian bytes. Returns 0, JWS_BAD_ALG or JWS_BAD_SIGNATURE. */
int jws_verify_rs256(const struct jws *jws, struct str n, struct str e) MUSTCHECK;

/* The values that a token must have. Empty texts and zeroes are not checked, except where noted. */
struct jws_expectations {
    struct str iss;     /* exact; required in the token when given */
    struct str iss_alt; /* another accepted spelling of iss (some providers have two) */
    struct str aud;     /* equal to aud, or in its array; required in the token when given */
    struct str typ;     /* header typ, ASCII case-insensitive; required in the token when given */
    int64_t now_s;      /* seconds since 1970, always used: exp is required */
    int64_t leeway_s;   /* tolerated clock skew of exp, nbf, iat */
    int64_t max_age_s;  /* iat required and not older than this (plus leeway) */
    bool azp; /* OpenID Connect Core 3.1.3.7: the claim azp, if present or if the token has several
                 audiences, must equal `aud` */
    bool fractions; /* times may have fractions, which some issuers send */
};

/* Checks typ and the claims of a verified token. Refuses a token whose exp, nbf or iat is not a
 * JSON integer, or with `fractions` a number. Returns 0, JWS_BAD_TYPE, JWS_BAD_ISSUER,
 * JWS_BAD_AUDIENCE, JWS_BAD_CLAIM, JWS_EXPIRED or JWS_NOT_YET. */
int jws_claims_check(const struct jws *jws, const struct jws_expectations *expect) MUSTCHECK;
/* Returns a string claim, owned by the token's arena; STR_NONE when absent or of another type. */
struct str jws_claim_str(const struct jws *jws, const char *name);
/* Reads an integer claim. Returns false when the claim is absent or of another type. */
bool jws_claim_i64(const struct jws *jws, const char *name, int64_t *ret_value);

/* Return a signed token, arena-owned. `kid` has only letters, digits, '-', '_', '.' and '+'; an
 * empty kid is left out of the header. `typ` has the same characters; empty = "JWT". `claims_json`
 * is the payload, used without changes. */
struct str jws_sign_es256(struct arena *arena,
                          const struct ec_key *key,
                          struct str kid,
                          struct str claims_json);
struct str jws_sign_es256_typ(struct arena *arena,
                              const struct ec_key *key,
                              struct str kid,
                              struct str typ,
                              struct str claims_json);
/* Returns a token signed with RS256, arena-owned. `kid` has the characters that jws_sign_es256()
 * allows; `claims_json` is the payload, used without changes. */
struct str jws_sign_rs256(struct arena *arena,
                          const struct rsa_key *key,
                          struct str kid,
                          struct str claims_json);
