#pragma once
/*
 * Compact JWS / JWT (RFC 7515, 7519), strict: exactly three canonical base64url parts, header and
 * payload JSON objects without duplicate names and nested at most 8 deep. The algorithm is chosen
 * by the verify function that is called, never by the token; jwk, jku, x5u, x5c are not followed;
 * crit and b64 are refused. Any thread, one arena each.
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

/* Clients see one answer for all JWS_*; the names are for logs and tests. */

/* A parsed, not yet verified token. All arena-owned (the JSON roots are released with the arena);
 * signing_input borrows the token that was parsed. */
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

/* 0 or JWS_BAD. At most JWS_MAX_BYTES. */
int jws_parse(struct arena *arena, struct str token, struct jws *ret_jws) MUSTCHECK;
/* Same with another size limit (app store notifications carry certificates). */
int jws_parse_limit(struct arena *arena, struct str token, size_t max_bytes, struct jws *ret_jws)
    MUSTCHECK;

/* 0, JWS_BAD_ALG or JWS_BAD_SIGNATURE. */
int jws_verify_es256(const struct jws *jws, const struct ec_key *key) MUSTCHECK;
/* Same; `n` and `e` are big-endian bytes, limits as in rsa.h. */
int jws_verify_rs256(const struct jws *jws, struct str n, struct str e) MUSTCHECK;

/* What a token must say. Empty texts and zeroes are not checked, except where noted. */
struct jws_expect {
    struct str iss;     /* exact; required in the token when given */
    struct str iss_alt; /* second accepted spelling (some providers have two) */
    struct str aud;     /* equal to aud, or in its array; required in the token when given */
    struct str typ;     /* header typ, ASCII case-insensitive; required in the token when given */
    int64_t now_s;      /* seconds since 1970, always used: exp is required */
    int64_t leeway_s;   /* clock skew granted on exp, nbf, iat */
    int64_t max_age_s;  /* iat required and not older than this (plus leeway) */
    bool azp;       /* OpenID Connect Core 3.1.3.7: azp, required with several audiences, is aud */
    bool fractions; /* times may have them, as some issuers send */
};

/* exp, nbf, iat are JSON integers or the token is refused. 0 or one of the names above. */
int jws_claims_check(const struct jws *jws, const struct jws_expect *expect) MUSTCHECK;
/* A string claim, borrowed from the token's arena; STR_NONE when absent or of another type. */
struct str jws_claim_str(const struct jws *jws, const char *name);
/* An integer claim; false when absent or of another type. */
bool jws_claim_i64(const struct jws *jws, const char *name, int64_t *ret_value);

/* A signed token, arena-owned. `kid` has only letters, digits, '-', '_', '.', '+' and may be empty
 * (then the header has none); `typ` likewise, empty = "JWT". `claims_json` is the payload as it
 * is. */
struct str jws_sign_es256(struct arena *arena,
                          const struct ec_key *key,
                          struct str kid,
                          struct str claims_json);
struct str jws_sign_es256_typ(struct arena *arena,
                              const struct ec_key *key,
                              struct str kid,
                              struct str typ,
                              struct str claims_json);
/* The same, RS256. */
struct str jws_sign_rs256(struct arena *arena,
                          const struct rsa_key *key,
                          struct str kid,
                          struct str claims_json);
