/* App store: configuration, signed texts, tokens of users. */
#include "payments/store.h"

#include <stdio.h>

#include "base/ascii.h"
#include "crypto/jws.h"
#include "payments/store_private.h"

enum { ANCHORS_BYTES_MAX = 65536, USER_DIGITS = 12 };
#define TOKEN_HEAD "00000000-0000-4000-8000-"

static struct store_config configured;

static struct str store_dup_url(struct str text)
{
    /* Lives as long as the process. */
    static struct arena *arena;

    if (!arena)
        arena = arena_new(0);
    return str_ends(text, STR("/")) ? arena_dup(arena, (struct str){text.ptr, text.len - 1})
                                    : arena_dup(arena, text);
}

void store_init(const struct store_config *config)
{
    configured = *config;
    configured.production_url = store_dup_url(config->production_url);
    configured.sandbox_url = store_dup_url(config->sandbox_url);
    if (configured.max_age_ms == 0)
        configured.max_age_ms = STORE_MAX_AGE_MS;
}

const struct store_config *store_config(void)
{
    return &configured;
}

int store_anchors_load(struct str path, struct x5c_anchors **ret_anchors)
{
    if (path.len == 0) {
        *ret_anchors = x5c_anchors_default();
        return 0;
    }
    struct arena *arena = arena_new(0);
    char *text = arena_alloc(arena, ANCHORS_BYTES_MAX + 1);
    FILE *file = fopen(arena_cstr(arena, path), "re");
    size_t bytes = file ? fread(text, 1, ANCHORS_BYTES_MAX + 1, file) : 0;
    bool whole = file && !ferror(file) && bytes <= ANCHORS_BYTES_MAX;

    if (file)
        (void)fclose(file);
    int rc = whole ? x5c_anchors_from_pem((struct str){text, bytes}, ret_anchors) : X5C_BAD;
    arena_free(arena);
    return rc;
}

/* --- signed texts --- */

static const char *chain_error_text(int rc)
{
    switch (rc) {
    case X5C_BAD:
        return "x5c does not consist of three readable certificates";
    case X5C_UNTRUSTED:
        return "the certificate chain does not lead to a trusted root";
    case X5C_NO_MARKER:
        return "a certificate lacks the extension of the store";
    default:
        return "a certificate has expired or is not valid yet";
    }
}

int store_jws_open(struct arena *arena,
                   struct str token,
                   int64_t at_ms,
                   const json_t **ret_claims,
                   struct str *ret_reason)
{
    const struct ec_key *key;
    struct jws jws;

    if (jws_parse_limit(arena, token, STORE_BODY_BYTES_MAX, &jws) != 0) {
        *ret_reason = STR("not a JWS");
        return STORE_INVALID;
    }
    if (!str_is(jws.alg, "ES256")) {
        *ret_reason = STR("alg is not ES256");
        return STORE_INVALID;
    }
    int rc = x5c_verify(arena, configured.anchors, jws.header, at_ms, &key);
    if (rc != 0) {
        *ret_reason = str_from(chain_error_text(rc));
        return STORE_INVALID;
    }
    if (jws_verify_es256(&jws, key) != 0) {
        *ret_reason = STR("the signature does not match");
        return STORE_INVALID;
    }
    *ret_claims = jws.claims;
    return 0;
}

/* --- users --- */

void store_account_token(int64_t user_id, char ret_token[STORE_ACCOUNT_TOKEN_BYTES + 1])
{
    (void)snprintf(ret_token,
                   STORE_ACCOUNT_TOKEN_BYTES + 1,
                   TOKEN_HEAD "%012llx",
                   (unsigned long long)user_id & 0xffffffffffffULL);
}

int64_t store_account_user(struct str token)
{
    int64_t user_id = 0;

    if (token.len != STORE_ACCOUNT_TOKEN_BYTES || !str_starts(token, STR(TOKEN_HEAD)))
        return 0;
    for (size_t i = token.len - USER_DIGITS; i < token.len; i++) {
        int digit = ascii_hex(token.ptr[i]);
        if (digit < 0)
            return 0;
        user_id = user_id * 16 + digit;
    }
    return user_id;
}
