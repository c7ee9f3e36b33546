/* AES-256-GCM for stored secrets. */
#include "crypto/aead.h"

#include <limits.h>
#include <openssl/crypto.h>

#include "base/panic.h"
#include "base/rand.h"
#include "crypto/digest.h"
#include "crypto/ossl_private.h"

enum {
    VERSION = 1,
    ID_AT = 1,
    NONCE_AT = 5,
    NONCE_BYTES = 12,
    TEXT_AT = NONCE_AT + NONCE_BYTES,
    TAG_BYTES = 16,
};
_Static_assert(TEXT_AT + TAG_BYTES == AEAD_OVERHEAD_BYTES, "sealed form");

static void id_write(uint8_t *at, uint32_t id)
{
    at[0] = (uint8_t)(id >> 24);
    at[1] = (uint8_t)(id >> 16);
    at[2] = (uint8_t)(id >> 8);
    at[3] = (uint8_t)id;
}

static uint32_t id_read(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Starts a cipher with key, nonce and the data that is authenticated but not encrypted: version and
 * key id, then the caller's data. Version and key id have a fixed length, so bytes cannot move
 * between both parts. */
static EVP_CIPHER_CTX *
cipher_start(const struct aead_key *key, const uint8_t *head, struct str aad, int encrypt)
{
    int ignored = 0;
    MUST(aad.len <= INT_MAX);
    ossl_errors_clear();
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    ossl_must(ctx != NULL, "cipher context");
    ossl_must(
        EVP_CipherInit_ex2(ctx, ossl_aes256_gcm(), key->bytes, head + NONCE_AT, encrypt, NULL),
        "cipher init");
    ossl_must(EVP_CipherUpdate(ctx, NULL, &ignored, head, NONCE_AT), "cipher header");
    if (aad.len > 0)
        ossl_must(EVP_CipherUpdate(ctx, NULL, &ignored, (const uint8_t *)aad.ptr, (int)aad.len),
                  "cipher associated data");
    return ctx;
}

struct str
aead_seal(struct arena *arena, const struct aead_key *key, struct str plain, struct str aad)
{
    MUST(plain.len <= INT_MAX - AEAD_OVERHEAD_BYTES);
    size_t sealed_bytes = plain.len + AEAD_OVERHEAD_BYTES;
    uint8_t *sealed = arena_alloc(arena, sealed_bytes);
    int written = 0;

    sealed[0] = VERSION;
    id_write(sealed + ID_AT, key->id);
    rand_bytes(sealed + NONCE_AT, NONCE_BYTES);
    EVP_CIPHER_CTX *ctx = cipher_start(key, sealed, aad, 1);
    if (plain.len > 0) {
        ossl_must(EVP_CipherUpdate(
                      ctx, sealed + TEXT_AT, &written, (const uint8_t *)plain.ptr, (int)plain.len),
                  "encrypt");
        MUST((size_t)written == plain.len);
    }
    uint8_t *tag = sealed + TEXT_AT + plain.len;
    ossl_must(EVP_CipherFinal_ex(ctx, tag, &written), "encrypt");
    ossl_must(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, tag), "tag");
    EVP_CIPHER_CTX_free(ctx);
    return (struct str){(const char *)sealed, sealed_bytes};
}

int aead_key_id(struct str sealed, uint32_t *ret_id)
{
    const uint8_t *bytes = (const uint8_t *)sealed.ptr;
    if (sealed.len < AEAD_OVERHEAD_BYTES || sealed.len > INT_MAX || bytes[0] != VERSION)
        return AEAD_BAD;
    *ret_id = id_read(bytes + ID_AT);
    return 0;
}

static const struct aead_key *key_find(const struct aead_key *keys, size_t nkeys, uint32_t id)
{
    for (size_t i = 0; i < nkeys; i++)
        if (keys[i].id == id)
            return &keys[i];
    return NULL;
}

int aead_open(struct arena *arena,
              const struct aead_key *keys,
              size_t nkeys,
              struct str sealed,
              struct str aad,
              struct str *ret_plain)
{
    uint32_t id = 0;
    if (aead_key_id(sealed, &id) != 0)
        return AEAD_BAD;
    const struct aead_key *key = key_find(keys, nkeys, id);
    if (!key)
        return AEAD_BAD;

    const uint8_t *bytes = (const uint8_t *)sealed.ptr;
    size_t plain_bytes = sealed.len - AEAD_OVERHEAD_BYTES;
    uint8_t *plain = arena_alloc(arena, plain_bytes + 1);
    uint8_t tag[TAG_BYTES];
    int written = 0;

    memcpy(tag, bytes + TEXT_AT + plain_bytes, TAG_BYTES);
    EVP_CIPHER_CTX *ctx = cipher_start(key, bytes, aad, 0);
    if (plain_bytes > 0)
        ossl_must(EVP_CipherUpdate(ctx, plain, &written, bytes + TEXT_AT, (int)plain_bytes),
                  "decrypt");
    ossl_must(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag), "tag");
    bool genuine = EVP_CipherFinal_ex(ctx, plain + plain_bytes, &written) == 1;
    EVP_CIPHER_CTX_free(ctx);
    if (!genuine) {
        OPENSSL_cleanse(plain, plain_bytes);
        return AEAD_BAD;
    }
    plain[plain_bytes] = '\0';
    *ret_plain = (struct str){(const char *)plain, plain_bytes};
    return 0;
}

void aead_derive(const struct aead_key *master, struct str label, struct aead_key *ret_key)
{
    struct aead_key derived = {.id = master->id};
    digest_hkdf_sha256((struct str){(const char *)master->bytes, sizeof(master->bytes)},
                       STR_NONE,
                       label,
                       derived.bytes);
    *ret_key = derived;
    aead_key_wipe(&derived);
}

void aead_key_wipe(struct aead_key *key)
{
    OPENSSL_cleanse(key->bytes, sizeof(key->bytes));
}
