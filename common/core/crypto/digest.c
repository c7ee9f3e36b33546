/* SHA-256, HMAC, HKDF and MD5 by OpenSSL. */
#include "crypto/digest.h"

#include <openssl/crypto.h>

#include "base/codec.h"
#include "base/panic.h"
#include "crypto/ossl_private.h"

void digest_sha256(struct str data, uint8_t ret[DIGEST_SHA256_BYTES])
{
    ossl_errors_clear();
    ossl_must(EVP_Digest(data.ptr, data.len, ret, NULL, ossl_sha256(), NULL), "digest");
}

struct str digest_sha256_hex(struct arena *arena, struct str data)
{
    uint8_t hash[DIGEST_SHA256_BYTES];
    digest_sha256(data, hash);
    return codec_hex(arena, (struct str){(const char *)hash, sizeof(hash)});
}

void digest_init(struct digest *digest)
{
    ossl_errors_clear();
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    ossl_must(ctx != NULL && EVP_DigestInit_ex2(ctx, ossl_sha256(), NULL), "digest init");
    digest->ctx = ctx;
}

void digest_update(struct digest *digest, struct str data)
{
    ossl_errors_clear();
    ossl_must(EVP_DigestUpdate(digest->ctx, data.ptr, data.len), "digest update");
}

void digest_final(struct digest *digest, uint8_t ret[DIGEST_SHA256_BYTES])
{
    ossl_errors_clear();
    ossl_must(EVP_DigestFinal_ex(digest->ctx, ret, NULL), "digest final");
    digest_done(digest);
}

void digest_done(struct digest *digest)
{
    EVP_MD_CTX_free(digest->ctx);
    digest->ctx = NULL;
}

void digest_md5(struct str data, uint8_t ret[DIGEST_MD5_BYTES])
{
    ossl_errors_clear();
    ossl_must(EVP_Digest(data.ptr, data.len, ret, NULL, EVP_md5(), NULL), "MD5");
}

void digest_md5_init(struct digest *digest)
{
    ossl_errors_clear();
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    ossl_must(ctx != NULL && EVP_DigestInit_ex2(ctx, EVP_md5(), NULL), "MD5 init");
    digest->ctx = ctx;
}

void digest_md5_final(struct digest *digest, uint8_t ret[DIGEST_MD5_BYTES])
{
    ossl_errors_clear();
    ossl_must(EVP_DigestFinal_ex(digest->ctx, ret, NULL), "MD5 final");
    digest_done(digest);
}

void digest_hmac_sha256_parts(struct str key,
                              const struct str *parts,
                              size_t count,
                              uint8_t ret[DIGEST_SHA256_BYTES])
{
    ossl_errors_clear();
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_dup(ossl_hmac_template());
    ossl_must(ctx != NULL, "HMAC context");
    /* A NULL key would mean "keep the template's". */
    const unsigned char *key_bytes = (const unsigned char *)(key.ptr ? key.ptr : "");
    size_t written = 0;
    ossl_must(EVP_MAC_init(ctx, key_bytes, key.len, NULL), "HMAC key");
    for (size_t i = 0; i < count; i++)
        ossl_must(EVP_MAC_update(ctx, (const unsigned char *)parts[i].ptr, parts[i].len),
                  "HMAC update");
    ossl_must(EVP_MAC_final(ctx, ret, &written, DIGEST_SHA256_BYTES), "HMAC final");
    MUST(written == DIGEST_SHA256_BYTES);
    EVP_MAC_CTX_free(ctx);
}

void digest_hmac_sha256(struct str key, struct str data, uint8_t ret[DIGEST_SHA256_BYTES])
{
    digest_hmac_sha256_parts(key, &data, 1, ret);
}

void digest_hkdf_sha256(struct str key,
                        struct str salt,
                        struct str info,
                        uint8_t ret[DIGEST_SHA256_BYTES])
{
    uint8_t extracted[DIGEST_SHA256_BYTES];
    uint8_t block[256];

    MUST(info.len < sizeof(block));
    digest_hmac_sha256(salt, key, extracted);
    if (info.len > 0)
        memcpy(block, info.ptr, info.len);
    block[info.len] = 1;
    digest_hmac_sha256((struct str){(const char *)extracted, sizeof(extracted)},
                       (struct str){(const char *)block, info.len + 1},
                       ret);
    OPENSSL_cleanse(extracted, sizeof(extracted));
}
