/* Encrypts messages for web push. */
#include "push/webpush_encrypt.h"

#include <openssl/crypto.h>

#include "base/panic.h"
#include "base/rand.h"
#include "crypto/digest.h"
#include "crypto/ec_agree.h"
#include "crypto/gcm128.h"

enum {
    SALT_AT = 0,
    RECORD_SIZE_AT = WEBPUSH_SALT_BYTES,
    KEY_ID_LENGTH_AT = RECORD_SIZE_AT + 4,
    KEY_ID_AT = KEY_ID_LENGTH_AT + 1,
    INFO_BYTES = 14 + 2 * EC_POINT_BYTES, /* "WebPush: info", 0, both points */
    DELIMITER_LAST = 2, /* after the text of the last record (RFC 8188 section 2) */
};
_Static_assert(KEY_ID_AT + EC_POINT_BYTES == WEBPUSH_HEADER_BYTES, "header of RFC 8188");

struct record_key {
    uint8_t key[DIGEST_SHA256_BYTES];   /* its first GCM128_KEY_BYTES */
    uint8_t nonce[DIGEST_SHA256_BYTES]; /* its first GCM128_NONCE_BYTES */
};

static struct str bytes_view(const void *bytes, size_t count)
{
    return (struct str){bytes, count};
}

/* The secret that both sides know, and our point, from which the other side derives the secret. */
struct agreed_secret {
    uint8_t point[EC_POINT_BYTES];
    uint8_t secret[EC_COORDINATE_BYTES];
};

/* RFC 8291 section 3.4. */
static void record_key_derive(const struct agreed_secret *agreed,
                              const struct webpush_subscription *subscription,
                              const uint8_t salt[WEBPUSH_SALT_BYTES],
                              struct record_key *ret)
{
    static const char label[14] = "WebPush: info"; /* the NUL is part of the label */
    uint8_t keying[DIGEST_SHA256_BYTES];
    char info[INFO_BYTES];

    memcpy(info, label, sizeof(label));
    memcpy(info + sizeof(label), subscription->point, EC_POINT_BYTES);
    memcpy(info + sizeof(label) + EC_POINT_BYTES, agreed->point, EC_POINT_BYTES);
    digest_hkdf_sha256(bytes_view(agreed->secret, EC_COORDINATE_BYTES),
                       bytes_view(subscription->auth, WEBPUSH_AUTH_BYTES),
                       bytes_view(info, sizeof(info)),
                       keying);

    struct str salt_bytes = bytes_view(salt, WEBPUSH_SALT_BYTES);
    struct str keying_bytes = bytes_view(keying, sizeof(keying));
    digest_hkdf_sha256(keying_bytes, salt_bytes, STR("Content-Encoding: aes128gcm\0"), ret->key);
    digest_hkdf_sha256(keying_bytes, salt_bytes, STR("Content-Encoding: nonce\0"), ret->nonce);
    OPENSSL_cleanse(keying, sizeof(keying));
}

/* RFC 8188 section 2.1. */
static void header_write(uint8_t *at, const uint8_t *salt, const struct agreed_secret *agreed)
{
    memcpy(at + SALT_AT, salt, WEBPUSH_SALT_BYTES);
    at[RECORD_SIZE_AT] = 0;
    at[RECORD_SIZE_AT + 1] = 0;
    at[RECORD_SIZE_AT + 2] = WEBPUSH_BODY_MAX >> 8;
    at[RECORD_SIZE_AT + 3] = WEBPUSH_BODY_MAX & 255;
    at[KEY_ID_LENGTH_AT] = EC_POINT_BYTES;
    memcpy(at + KEY_ID_AT, agreed->point, EC_POINT_BYTES);
}

static bool webpush_fits(size_t text, size_t padding)
{
    return text <= WEBPUSH_TEXT_MAX && padding <= WEBPUSH_TEXT_MAX - text;
}

/* Encrypts the parts, and wipes `agreed`. */
static void webpush_seal(struct agreed_secret *agreed,
                         const uint8_t salt[WEBPUSH_SALT_BYTES],
                         const struct webpush_subscription *subscription,
                         const struct str parts[2],
                         struct webpush_body *ret_body)
{
    struct record_key record;
    uint8_t *at = ret_body->bytes;

    record_key_derive(agreed, subscription, salt, &record);
    header_write(at, salt, agreed);
    size_t sealed = gcm128_seal(record.key, record.nonce, parts, 2, at + WEBPUSH_HEADER_BYTES);
    ret_body->len = WEBPUSH_HEADER_BYTES + sealed;
    MUST(ret_body->len <= WEBPUSH_BODY_MAX);
    OPENSSL_cleanse(&record, sizeof(record));
    OPENSSL_cleanse(agreed, sizeof(*agreed));
}

static struct str webpush_ending(size_t padding)
{
    static const char ending[1 + WEBPUSH_TEXT_MAX] = {DELIMITER_LAST};

    return bytes_view(ending, 1 + padding);
}

int webpush_encrypt_with(const struct ec_key *own,
                         const uint8_t salt[WEBPUSH_SALT_BYTES],
                         const struct webpush_subscription *subscription,
                         struct str text,
                         size_t padding,
                         struct webpush_body *ret_body)
{
    struct ec_key *peer = NULL;
    struct agreed_secret agreed;

    if (!webpush_fits(text.len, padding))
        return WEBPUSH_TOO_LARGE;
    if (ec_key_from_point(bytes_view(subscription->point, EC_POINT_BYTES), &peer) != 0)
        return WEBPUSH_KEY_BAD;
    memcpy(agreed.point, ec_key_point(own).ptr, EC_POINT_BYTES);
    ec_shared_secret(own, peer, agreed.secret);
    ec_key_free(peer);
    webpush_seal(
        &agreed, salt, subscription, (const struct str[]){text, webpush_ending(padding)}, ret_body);
    return 0;
}

int webpush_encrypt(const struct webpush_subscription *subscription,
                    struct str text,
                    size_t padding,
                    struct webpush_body *ret_body)
{
    uint8_t salt[WEBPUSH_SALT_BYTES];
    struct agreed_secret agreed;

    if (!webpush_fits(text.len, padding)) /* before an unnecessary key pair is made */
        return WEBPUSH_TOO_LARGE;
    if (ec_agree(bytes_view(subscription->point, EC_POINT_BYTES), agreed.point, agreed.secret) != 0)
        return WEBPUSH_KEY_BAD;
    rand_bytes(salt, sizeof(salt));
    webpush_seal(
        &agreed, salt, subscription, (const struct str[]){text, webpush_ending(padding)}, ret_body);
    return 0;
}
