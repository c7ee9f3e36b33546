/* Signed links. */
#include "files/link.h"

#include "base/codec.h"
#include "crypto/ct.h"
#include "crypto/digest.h"

enum {
    LINK_VERSION = 1,
    LINK_KEY_AT = 1,
    LINK_END_AT = 5,
    LINK_MAC_AT = 13,
    LINK_MAC_BYTES = 16, /* half of the HMAC, which RFC 2104 section 5 allows */
    LINK_BYTES = LINK_MAC_AT + LINK_MAC_BYTES,
};
_Static_assert((LINK_BYTES * 4 + 2) / 3 == FILE_LINK_BYTES, "base64url without padding");

static void link_number_write(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, value >>= 8)
        at[i] = (uint8_t)value;
}

static uint64_t link_number_read(const uint8_t *at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

/* Computes the HMAC. All parts have fixed lengths, so different inputs never give the same text. */
static void link_mac(const struct aead_key *key,
                     const uint8_t head[LINK_MAC_AT],
                     const struct file_link *link,
                     uint8_t ret[DIGEST_SHA256_BYTES])
{
    struct aead_key derived;
    uint8_t names[16];

    link_number_write(names, (uint64_t)link->project, 8);
    link_number_write(names + 8, (uint64_t)link->file, 8);
    const struct str parts[] = {
        {(const char *)head, LINK_MAC_AT},
        {(const char *)names, sizeof(names)},
    };
    aead_derive(key, STR("file link"), &derived);
    digest_hmac_sha256_parts((struct str){(const char *)derived.bytes, sizeof(derived.bytes)},
                             parts,
                             ARRAY_LEN(parts),
                             ret);
    aead_key_wipe(&derived);
}

struct str file_link_sign(struct arena *arena,
                          const struct aead_key *key,
                          const struct file_link *link,
                          int64_t end_s)
{
    uint8_t bytes[LINK_BYTES] = {LINK_VERSION};
    uint8_t full[DIGEST_SHA256_BYTES];

    link_number_write(bytes + LINK_KEY_AT, key->id, LINK_END_AT - LINK_KEY_AT);
    link_number_write(bytes + LINK_END_AT, (uint64_t)end_s, LINK_MAC_AT - LINK_END_AT);
    link_mac(key, bytes, link, full);
    memcpy(bytes + LINK_MAC_AT, full, LINK_MAC_BYTES);
    return codec_b64url(arena, (struct str){(const char *)bytes, sizeof(bytes)});
}

int file_link_verify(struct arena *arena,
                     const struct aead_key *keys,
                     size_t nkeys,
                     const struct file_link *link,
                     struct str token,
                     int64_t now_ms,
                     int64_t *ret_end_s)
{
    uint8_t expected[DIGEST_SHA256_BYTES];
    const struct aead_key *key = NULL;
    struct str decoded;

    if (token.len != FILE_LINK_BYTES || !codec_b64url_decode(arena, token, &decoded) ||
        decoded.len != LINK_BYTES)
        return FILE_LINK_BAD;
    const uint8_t *bytes = (const uint8_t *)decoded.ptr;
    uint32_t id = (uint32_t)link_number_read(bytes + LINK_KEY_AT, LINK_END_AT - LINK_KEY_AT);
    for (size_t i = 0; i < nkeys && !key; i++)
        key = keys[i].id == id ? &keys[i] : NULL;
    if (bytes[0] != LINK_VERSION || !key)
        return FILE_LINK_BAD;
    link_mac(key, bytes, link, expected);
    if (!ct_eq((struct str){(const char *)expected, LINK_MAC_BYTES},
               (struct str){(const char *)bytes + LINK_MAC_AT, LINK_MAC_BYTES}))
        return FILE_LINK_BAD;
    int64_t end_s = (int64_t)link_number_read(bytes + LINK_END_AT, LINK_MAC_AT - LINK_END_AT);
    if (now_ms / 1000 >= end_s)
        return FILE_LINK_EXPIRED;
    *ret_end_s = end_s;
    return 0;
}
