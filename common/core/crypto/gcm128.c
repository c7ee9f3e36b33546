/* AES-128-GCM by OpenSSL's EVP interface. */
#include "crypto/gcm128.h"

#include <limits.h>

#include "base/panic.h"
#include "crypto/ossl_private.h"

size_t gcm128_seal(const uint8_t key[GCM128_KEY_BYTES],
                   const uint8_t nonce[GCM128_NONCE_BYTES],
                   const struct str *parts,
                   size_t count,
                   uint8_t *ret)
{
    size_t at = 0;
    int written = 0;

    ossl_errors_clear();
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    ossl_must(ctx != NULL && EVP_EncryptInit_ex2(ctx, ossl_aes128_gcm(), key, nonce, NULL),
              "cipher init");
    for (size_t i = 0; i < count; i++) {
        if (parts[i].len == 0)
            continue;
        MUST(parts[i].len <= INT_MAX);
        ossl_must(EVP_EncryptUpdate(
                      ctx, ret + at, &written, (const uint8_t *)parts[i].ptr, (int)parts[i].len),
                  "encrypt");
        MUST((size_t)written == parts[i].len);
        at += parts[i].len;
    }
    ossl_must(EVP_EncryptFinal_ex(ctx, ret + at, &written), "encrypt");
    ossl_must(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, GCM128_TAG_BYTES, ret + at), "tag");
    EVP_CIPHER_CTX_free(ctx);
    return at + GCM128_TAG_BYTES;
}
