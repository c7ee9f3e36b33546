/* Signs and verifies the tokens of taps. */
#include "push/tap_token.h"

#include "base/codec.h"
#include "crypto/ct.h"
#include "crypto/digest.h"

enum {
    VERSION = 1,
    KEY_ID_AT = 1,
    SEND_AT = 5,
    END_AT = 13,
    MAC_AT = 21,
    MAC_BYTES = 16, /* half of the HMAC is strong enough (RFC 2104 section 5) */
    TOKEN_BYTES = MAC_AT + MAC_BYTES,
};
_Static_assert((TOKEN_BYTES * 4 + 2) / 3 == TAP_TOKEN_BYTES, "base64url without padding");

static void number_write(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, value >>= 8)
        at[i] = (uint8_t)value;
}

static uint64_t number_read(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

/* Computes the HMAC of the token's head, the project and the category. The first two have fixed
 * lengths, so different values are never the same bytes. */
static void tap_token_mac(const struct aead_key *key,
                          const uint8_t head[MAC_AT],
                          const struct tap *tap,
                          uint8_t ret[DIGEST_SHA256_BYTES])
{
    struct aead_key derived;
    uint8_t project_bytes[8];

    number_write(project_bytes, (uint64_t)tap->project, sizeof(project_bytes));
    const struct str parts[] = {
        {(const char *)head, MAC_AT},
        {(const char *)project_bytes, sizeof(project_bytes)},
        tap->category,
    };
    aead_derive(key, STR("push tap token"), &derived);
    digest_hmac_sha256_parts((struct str){(const char *)derived.bytes, sizeof(derived.bytes)},
                             parts,
                             ARRAY_LEN(parts),
                             ret);
    aead_key_wipe(&derived);
}

struct str tap_token_sign(struct arena *arena,
                          const struct aead_key *key,
                          const struct tap *tap,
                          int64_t sent_ms)
{
    uint8_t bytes[TOKEN_BYTES] = {VERSION};
    uint8_t full[DIGEST_SHA256_BYTES];

    number_write(bytes + KEY_ID_AT, key->id, SEND_AT - KEY_ID_AT);
    number_write(bytes + SEND_AT, (uint64_t)tap->send, END_AT - SEND_AT);
    number_write(bytes + END_AT, (uint64_t)(sent_ms / 1000 + TAP_TOKEN_S), MAC_AT - END_AT);
    tap_token_mac(key, bytes, tap, full);
    memcpy(bytes + MAC_AT, full, MAC_BYTES);
    return codec_b64url(arena, (struct str){(const char *)bytes, sizeof(bytes)});
}

static const struct aead_key *tap_key_find(const struct aead_key *keys, size_t nkeys, uint32_t id)
{
    for (size_t i = 0; i < nkeys; i++)
        if (keys[i].id == id)
            return &keys[i];
    return NULL;
}

int tap_token_verify(struct arena *arena,
                     const struct aead_key *keys,
                     size_t nkeys,
                     const struct tap *claim,
                     struct str token,
                     int64_t now_ms,
                     int64_t *ret_send)
{
    uint8_t expected[DIGEST_SHA256_BYTES];
    struct str decoded;

    if (token.len != TAP_TOKEN_BYTES || !codec_b64url_decode(arena, token, &decoded) ||
        decoded.len != TOKEN_BYTES || claim->category.len == 0)
        return TAP_TOKEN_BAD;
    const uint8_t *bytes = (const uint8_t *)decoded.ptr;
    uint32_t id = (uint32_t)number_read(bytes + KEY_ID_AT, SEND_AT - KEY_ID_AT);
    const struct aead_key *key = tap_key_find(keys, nkeys, id);
    if (bytes[0] != VERSION || !key)
        return TAP_TOKEN_BAD;
    tap_token_mac(key, bytes, claim, expected);
    if (!ct_eq((struct str){(const char *)expected, MAC_BYTES},
               (struct str){(const char *)bytes + MAC_AT, MAC_BYTES}))
        return TAP_TOKEN_BAD;
    if (now_ms / 1000 >= (int64_t)number_read(bytes + END_AT, MAC_AT - END_AT))
        return TAP_TOKEN_EXPIRED;
    *ret_send = (int64_t)number_read(bytes + SEND_AT, END_AT - SEND_AT);
    return 0;
}

bool tap_token_key_id(struct arena *arena, struct str token, uint32_t *ret_id)
{
    struct str decoded;

    if (token.len != TAP_TOKEN_BYTES || !codec_b64url_decode(arena, token, &decoded) ||
        decoded.len != TOKEN_BYTES)
        return false;
    *ret_id = (uint32_t)number_read((const uint8_t *)decoded.ptr + KEY_ID_AT, SEND_AT - KEY_ID_AT);
    return true;
}
