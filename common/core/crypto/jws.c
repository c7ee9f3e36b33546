/* Compact JWS: strict parsing, verification, signing. */
#include "crypto/jws.h"

#include <string.h>

#include "base/ascii.h"
#include "base/codec.h"
#include "base/json_scan.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "crypto/ec.h"
#include "crypto/rsa_key.h"
#include "crypto/rsa_private.h"

enum { JSON_DEPTH_MAX = 8 };

/* Returns whether the text is nested at most JSON_DEPTH_MAX deep, because jansson recurses.
 * Unbalanced brackets are left to jansson. */
static bool json_is_shallow(struct str text)
{
    int depth = 0;
    int c;

    for (size_t at = 0; depth <= JSON_DEPTH_MAX && (c = json_scan(text, &at)) >= 0;)
        depth += json_scan_depth(c);
    return depth <= JSON_DEPTH_MAX;
}

static void jws_json_release(void *root)
{
    json_decref(root);
}

/* Reads an object without duplicate names, which the arena releases. Returns NULL for any other
 * text. */
static const json_t *json_object_read(struct arena *arena, struct str text)
{
    json_error_t ignored;
    if (!json_is_shallow(text))
        return NULL;
    json_t *root = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES, &ignored);
    if (!root)
        return NULL;
    arena_defer(arena, jws_json_release, root);
    return json_is_object(root) ? root : NULL;
}

/* Reads a string member; STR_NONE when absent. Returns false when the member is of another type. */
static bool header_text(const json_t *header, const char *name, struct str *ret_text)
{
    const json_t *value = json_object_get(header, name);
    *ret_text = STR_NONE;
    if (!value)
        return true;
    if (!json_is_string(value))
        return false;
    *ret_text = (struct str){json_string_value(value), json_string_length(value)};
    return true;
}

static int header_read(struct arena *arena, struct str part, struct jws *jws)
{
    struct str text;
    if (!codec_b64url_decode(arena, part, &text))
        return JWS_BAD;
    jws->header = json_object_read(arena, text);
    if (!jws->header)
        return JWS_BAD;
    if (!header_text(jws->header, "alg", &jws->alg) || jws->alg.len == 0)
        return JWS_BAD;
    if (!header_text(jws->header, "kid", &jws->kid) || !header_text(jws->header, "typ", &jws->typ))
        return JWS_BAD;
    /* We understand no extension, so a critical one makes the token unusable (RFC 7515 4.1.11). */
    if (json_object_get(jws->header, "crit") || json_object_get(jws->header, "b64"))
        return JWS_BAD;
    return 0;
}

int jws_parse_limit(struct arena *arena, struct str token, size_t max_bytes, struct jws *ret_jws)
{
    struct jws jws = {0};
    struct str rest = token;

    if (token.len == 0 || token.len > max_bytes)
        return JWS_BAD;
    struct str header = str_split(&rest, '.');
    struct str payload = rest.ptr ? str_split(&rest, '.') : STR_NONE;
    if (!rest.ptr || rest.len == 0 || memchr(rest.ptr, '.', rest.len))
        return JWS_BAD;
    if (header.len == 0 || payload.len == 0)
        return JWS_BAD;
    jws.signing_input = (struct str){token.ptr, header.len + 1 + payload.len};

    TRY(header_read(arena, header, &jws));
    if (!codec_b64url_decode(arena, payload, &jws.claims_json))
        return JWS_BAD;
    if (!codec_b64url_decode(arena, rest, &jws.signature) || jws.signature.len == 0)
        return JWS_BAD;
    jws.claims = json_object_read(arena, jws.claims_json);
    if (!jws.claims)
        return JWS_BAD;
    *ret_jws = jws;
    return 0;
}

int jws_parse(struct arena *arena, struct str token, struct jws *ret_jws)
{
    return jws_parse_limit(arena, token, JWS_MAX_BYTES, ret_jws);
}

int jws_verify_es256(const struct jws *jws, const struct ec_key *key)
{
    if (!str_is(jws->alg, "ES256"))
        return JWS_BAD_ALG;
    return ec_verify_es256(key, jws->signing_input, jws->signature) ? 0 : JWS_BAD_SIGNATURE;
}

int jws_verify_rs256(const struct jws *jws, struct str n, struct str e)
{
    if (!str_is(jws->alg, "RS256"))
        return JWS_BAD_ALG;
    return rsa_verify_rs256(n, e, jws->signing_input, jws->signature) ? 0 : JWS_BAD_SIGNATURE;
}

/* Returns whether the text needs no escaping inside of a JSON string. */
static bool is_plain_word(struct str text)
{
    return ascii_has_only(text, ASCII_ALNUM, "-_.+");
}

/* Writes "header.payload" to a buffer that has room for a signature. */
static void signing_input(struct arena *arena,
                          const char *alg,
                          struct str kid,
                          struct str typ,
                          struct str claims_json,
                          struct strbuf *ret_token)
{
    MUST(is_plain_word(kid) && is_plain_word(typ));
    struct str type = typ.len > 0 ? typ : STR("JWT");
    struct str header =
        kid.len > 0 ? arena_printf(arena,
                                   "{\"alg\":\"%s\",\"typ\":\"%.*s\",\"kid\":\"%.*s\"}",
                                   alg,
                                   STR_ARG(type),
                                   STR_ARG(kid))
                    : arena_printf(arena, "{\"alg\":\"%s\",\"typ\":\"%.*s\"}", alg, STR_ARG(type));
    strbuf_init(ret_token, arena, 2 * (header.len + claims_json.len + RSA_SIGNATURE_MAX) + 16);
    strbuf_str(ret_token, codec_b64url(arena, header));
    strbuf_char(ret_token, '.');
    strbuf_str(ret_token, codec_b64url(arena, claims_json));
}

static struct str token_finish(struct arena *arena, struct strbuf *token, struct str sig)
{
    strbuf_char(token, '.');
    strbuf_str(token, codec_b64url(arena, sig));
    MUST(!token->overflow);
    return strbuf_view(token);
}

struct str jws_sign_es256_typ(struct arena *arena,
                              const struct ec_key *key,
                              struct str kid,
                              struct str typ,
                              struct str claims_json)
{
    uint8_t sig[EC_SIGNATURE_BYTES];
    struct strbuf token;

    signing_input(arena, "ES256", kid, typ, claims_json, &token);
    ec_sign_es256(key, strbuf_view(&token), sig);
    return token_finish(arena, &token, (struct str){(const char *)sig, sizeof(sig)});
}

struct str jws_sign_es256(struct arena *arena,
                          const struct ec_key *key,
                          struct str kid,
                          struct str claims_json)
{
    return jws_sign_es256_typ(arena, key, kid, STR_NONE, claims_json);
}

struct str jws_sign_rs256(struct arena *arena,
                          const struct rsa_key *key,
                          struct str kid,
                          struct str claims_json)
{
    struct strbuf token;

    signing_input(arena, "RS256", kid, STR_NONE, claims_json, &token);
    return token_finish(arena, &token, rsa_sign_rs256(arena, key, strbuf_view(&token)));
}
