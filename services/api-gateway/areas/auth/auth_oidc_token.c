/* ID tokens: the validation list of OpenID Connect Core 1.0, 3.1.3.7. */
#include "areas/auth/auth_input.h"
#include "areas/auth/auth_oidc.h"
#include "base/clock.h"
#include "base/codec.h"
#include "crypto/ct.h"
#include "crypto/digest.h"
#include "crypto/ec.h"
#include "crypto/jws.h"
#include "json/jr.h"
#include "json/schema.h"

#define LEEWAY_S    60
#define MAX_AGE_S   600
#define SUBJECT_MAX 255
#define TEXT_MAX    2000
#define GMAIL       "@gmail.com"

static int oidc_token_refuse(struct req *r, const char *reason)
{
    log_warn("auth.id_token_refused", L_CSTR("reason", reason));
    return fail(r,
                PROBLEM_INVALID_CREDENTIALS,
                "The identity provider's token is not valid for this project.");
}

static bool is_key_of_token(const json_t *key, const struct jws *token)
{
    const char *type = str_is(token->alg, "RS256") ? "RSA" : "EC";
    struct str use = jr_str(key, "use");
    struct str alg = jr_str(key, "alg");

    return str_is(jr_str(key, "kty"), type) && (!use.ptr || str_is(use, "sig")) &&
           (!alg.ptr || str_eq(alg, token->alg)) &&
           (!token->kid.len || str_eq(jr_str(key, "kid"), token->kid));
}

/* Returns the key with the token's key id and algorithm. Without a key id, returns the only key
 * that the set has for the algorithm (OpenID Connect Core 1.0, 10.1). NULL when there is none. */
static const json_t *find_key(const json_t *document, const struct jws *token)
{
    const json_t *keys = json_object_get(document, "keys");
    const json_t *found = NULL;
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(keys); i++) {
        const json_t *key = json_array_get(keys, i);
        if (!is_key_of_token(key, token))
            continue;
        found = found ? found : key;
        count++;
    }
    return token->kid.len || count == 1 ? found : NULL;
}

/* A kid that the cached set lacks may be new, so the set is fetched again, at most once a
 * minute. */
AWAITS static int load_key(struct req *r,
                           const struct oidc_client *client,
                           const struct jws *token,
                           const json_t **ret_key)
{
    json_t *document;

    *ret_key = NULL;
    for (int renew = 0; renew < 2 && !*ret_key; renew++) {
        int rc = oidc_document(&r->task, client->jwks_uri, renew, &document);
        if (rc)
            return rc > 0 ? fail(r,
                                 PROBLEM_PROVIDER_ERROR,
                                 "The identity provider's keys cannot be read.")
                          : rc;
        *ret_key = find_key(document, token);
    }
    return *ret_key ? 0 : oidc_token_refuse(r, "unknown key");
}

static bool is_signature_valid(struct arena *arena, const struct jws *token, const json_t *key)
{
    struct ec_key *point;
    struct str n;
    struct str e;

    if (str_is(token->alg, "RS256"))
        return codec_b64url_decode(arena, jr_str(key, "n"), &n) &&
               codec_b64url_decode(arena, jr_str(key, "e"), &e) &&
               jws_verify_rs256(token, n, e) == 0;
    if (!str_is(jr_str(key, "crv"), "P-256") ||
        ec_key_from_jwk(arena, jr_str(key, "x"), jr_str(key, "y"), &point) != 0)
        return false;
    arena_defer(arena, ec_key_free_deferred, point);
    return jws_verify_es256(token, point) == 0;
}

/* Allows RS256 for every issuer, and ES256 for every issuer but Google, which does not use it. */
static bool is_algorithm_allowed(const struct oidc_client *client, struct str alg)
{
    bool google = oidc_issuer_is(client->issuer, STR("accounts.google.com"));

    return str_is(alg, "RS256") || (str_is(alg, "ES256") && !google);
}

static const char *claims_fault(const struct oidc_client *client, const struct jws *token)
{
    const bool google = oidc_issuer_is(client->issuer, STR("accounts.google.com"));
    const struct jws_expectations expect = {
        .iss = client->issuer,
        .iss_alt = google ? STR("accounts.google.com") : STR_NONE,
        .aud = client->client_id,
        .now_s = clock_wall_ms() / 1000,
        .leeway_s = LEEWAY_S,
        .max_age_s = MAX_AGE_S,
        .azp = true,
        .fractions = true,
    };

    switch (jws_claims_check(token, &expect)) {
    case 0:
        return NULL;
    case JWS_BAD_ISSUER:
        return "issuer";
    case JWS_BAD_AUDIENCE:
        return "audience";
    case JWS_EXPIRED:
    case JWS_NOT_YET:
        return "time";
    default:
        return "claims";
    }
}

/* Checks that the ID token belongs to the access token that came with it (OpenID Connect Core 1.0,
 * 3.1.3.6). */
static bool is_at_hash_valid(struct arena *arena, const struct jws *token, struct str access_token)
{
    const json_t *claim = json_object_get(token->claims, "at_hash");
    uint8_t hash[DIGEST_SHA256_BYTES];

    if (!claim)
        return true;
    digest_sha256(access_token, hash);
    struct str half = {(const char *)hash, sizeof(hash) / 2};
    return str_eq(jws_claim_str(token, "at_hash"), codec_b64url(arena, half));
}

static struct str short_claim(const struct jws *token, const char *name)
{
    struct str text = jws_claim_str(token, name);

    return text.len && text.len <= TEXT_MAX ? text : STR_NONE;
}

static bool email_is_verified(const struct oidc_client *client, const struct jws *token)
{
    const json_t *verified = json_object_get(token->claims, "email_verified");

    if (!verified || json_is_null(verified))
        return client->trust_email;
    return json_is_true(verified) || str_is(jws_claim_str(token, "email_verified"), "true");
}

static void read_claims(struct arena *arena,
                        const struct oidc_client *client,
                        const struct jws *token,
                        struct oidc_identity *ret)
{
    const bool google = oidc_issuer_is(client->issuer, STR("accounts.google.com"));
    struct str email = jws_claim_str(token, "email");

    *ret = (struct oidc_identity){
        .subject = jws_claim_str(token, "sub"),
        .name = short_claim(token, "name"),
        .picture = short_claim(token, "picture"),
    };
    if (!email.len || !schema_format_ok("email", email))
        return;
    ret->email = arena_lower(arena, email);
    ret->email_verified = email_is_verified(client, token);
    ret->authoritative = google && ret->email_verified &&
                         (str_ends(ret->email, STR(GMAIL)) || jws_claim_str(token, "hd").len > 0);
}

int oidc_identity_read(struct req *r,
                       const struct oidc_client *client,
                       const struct oidc_exchange *exchange,
                       struct str nonce,
                       struct oidc_identity *ret_identity)
{
    struct jws token;
    const json_t *key;
    const char *fault;

    if (jws_parse(r->task.arena, exchange->id_token, &token) != 0)
        return oidc_token_refuse(r, "form");
    if (!is_algorithm_allowed(client, token.alg))
        return oidc_token_refuse(r, "algorithm");
    TRY(load_key(r, client, &token, &key));
    if (!is_signature_valid(r->task.arena, &token, key))
        return oidc_token_refuse(r, "signature");
    fault = claims_fault(client, &token);
    if (fault)
        return oidc_token_refuse(r, fault);
    if (!ct_eq(jws_claim_str(&token, "nonce"), nonce))
        return oidc_token_refuse(r, "nonce");
    if (!is_at_hash_valid(r->task.arena, &token, exchange->access_token))
        return oidc_token_refuse(r, "at_hash");
    read_claims(r->task.arena, client, &token, ret_identity);
    if (!ret_identity->subject.len || ret_identity->subject.len > SUBJECT_MAX)
        return oidc_token_refuse(r, "subject");
    return 0;
}
