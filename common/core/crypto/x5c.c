/* Chains of three certificates: leaf and intermediate up to a pinned root. */
#include "crypto/x5c.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/codec.h"
#include "base/panic.h"
#include "crypto/digest.h"
#include "crypto/ec.h"
#include "crypto/ossl_private.h"

enum { ENTRIES = 3, CERTIFICATE_BYTES_MAX = 8192, ANCHORS_MAX = 16, CACHE_MAX = 32 };
#define SKEW_MS        60000
#define CHAIN_CACHE_MS (15LL * 60 * 1000)

/* SSL_CTX_set_security_level(3): at least 112 bits, so no SHA-1 and no RSA below 2,048 bits. */
#define SECURITY_LEVEL 2

#define MARKER_LEAF         "1.2.840.113635.100.6.11.1"
#define MARKER_INTERMEDIATE "1.2.840.113635.100.6.2.1"

/* Apple Root CA - G3, as published at https://www.apple.com/certificateauthority/. */
static const char store_root[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIICQzCCAcmgAwIBAgIILcX8iNLFS5UwCgYIKoZIzj0EAwMwZzEbMBkGA1UEAwwS\n"
    "QXBwbGUgUm9vdCBDQSAtIEczMSYwJAYDVQQLDB1BcHBsZSBDZXJ0aWZpY2F0aW9u\n"
    "IEF1dGhvcml0eTETMBEGA1UECgwKQXBwbGUgSW5jLjELMAkGA1UEBhMCVVMwHhcN\n"
    "MTQwNDMwMTgxOTA2WhcNMzkwNDMwMTgxOTA2WjBnMRswGQYDVQQDDBJBcHBsZSBS\n"
    "b290IENBIC0gRzMxJjAkBgNVBAsMHUFwcGxlIENlcnRpZmljYXRpb24gQXV0aG9y\n"
    "aXR5MRMwEQYDVQQKDApBcHBsZSBJbmMuMQswCQYDVQQGEwJVUzB2MBAGByqGSM49\n"
    "AgEGBSuBBAAiA2IABJjpLz1AcqTtkyJygRMc3RCV8cWjTnHcFBbZDuWmBSp3ZHtf\n"
    "TjjTuxxEtX/1H7YyYl3J6YRbTzBPEVoA/VhYDKX1DyxNB0cTddqXl5dvMVztK517\n"
    "IDvYuVTZXpmkOlEKMaNCMEAwHQYDVR0OBBYEFLuw3qFYM4iapIqZ3r6966/ayySr\n"
    "MA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgEGMAoGCCqGSM49BAMDA2gA\n"
    "MGUCMQCD6cHEFl4aXTQY2e3v9GwOAEZLuN+yRhHFD/3meoyhpmvOwgPUnPWTxnS4\n"
    "at+qIxUCMG1mihDK1A3UT82NQz60imOlM27jbdoXt2QfyFMm+YhidDkLF1vLUagM\n"
    "6BgD56KyKA==\n"
    "-----END CERTIFICATE-----\n";

struct validity {
    int64_t from_ms, to_ms; /* inclusive */
};

struct anchor {
    X509 *certificate;
    struct validity valid;
};

struct x5c_anchors {
    uint64_t number; /* unique: a cached chain belongs to one set */
    struct anchor items[ANCHORS_MAX];
    size_t count;
};

/* --- certificates --- */

static bool x5c_time_read(const ASN1_TIME *time, int64_t *ret_ms)
{
    struct tm parts;

    if (ASN1_TIME_to_tm(time, &parts) != 1)
        return false;
    *ret_ms = (int64_t)timegm(&parts) * 1000;
    return true;
}

static bool validity_read(const X509 *certificate, struct validity *ret_span)
{
    return x5c_time_read(X509_get0_notBefore(certificate), &ret_span->from_ms) &&
           x5c_time_read(X509_get0_notAfter(certificate), &ret_span->to_ms);
}

static struct validity validity_intersect(struct validity a, struct validity b)
{
    return (struct validity){
        .from_ms = a.from_ms > b.from_ms ? a.from_ms : b.from_ms,
        .to_ms = a.to_ms < b.to_ms ? a.to_ms : b.to_ms,
    };
}

static bool validity_contains(const struct validity *span, int64_t at_ms)
{
    return at_ms >= span->from_ms - SKEW_MS && at_ms <= span->to_ms + SKEW_MS;
}

/* Returns whether basic constraints, and key usage if present, allow to sign certificates. */
static bool certificate_is_ca(X509 *certificate)
{
    return X509_check_ca(certificate) == 1 &&
           (X509_get_extension_flags(certificate) & EXFLAG_INVALID) == 0;
}

static bool has_extension(const X509 *certificate, const char *name)
{
    ASN1_OBJECT *object = OBJ_txt2obj(name, 1);

    ossl_must(object != NULL, "object identifier");
    bool found = X509_get_ext_by_OBJ(certificate, object, -1) >= 0;
    ASN1_OBJECT_free(object);
    return found;
}

/* --- anchors --- */

/* An encrypted PEM block must not make OpenSSL ask at a terminal. */
static int
x5c_password_refuse(char *buf UNUSED, int size UNUSED, int writing UNUSED, void *arg UNUSED)
{
    return -1;
}

/* Takes ownership of the certificate, also of one that it refuses. */
static bool anchor_add(struct x5c_anchors *anchors, X509 *certificate)
{
    struct anchor *anchor = &anchors->items[anchors->count];

    if (anchors->count == ANCHORS_MAX || !certificate_is_ca(certificate) ||
        !X509_get0_pubkey(certificate) || !validity_read(certificate, &anchor->valid)) {
        X509_free(certificate);
        return false;
    }
    anchor->certificate = certificate;
    anchors->count++;
    return true;
}

int x5c_anchors_from_pem(struct str pem, struct x5c_anchors **ret_anchors)
{
    static uint64_t last_number;
    X509 *certificate;
    bool good = true;

    if (pem.len == 0 || pem.len > INT_MAX)
        return X5C_BAD;
    struct x5c_anchors *anchors = calloc(1, sizeof(*anchors));
    MUST(anchors != NULL);
    ossl_errors_clear();
    BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
    ossl_must(bio != NULL, "PEM");
    while (good && (certificate = PEM_read_bio_X509(bio, NULL, x5c_password_refuse, NULL)))
        good = anchor_add(anchors, certificate);
    /* Any other reason than the end of the text means a malformed block. */
    if (good && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        good = false;
    BIO_free(bio);
    ossl_errors_clear();
    if (!good || anchors->count == 0) {
        x5c_anchors_free(anchors);
        return X5C_BAD;
    }
    anchors->number = ++last_number;
    *ret_anchors = anchors;
    return 0;
}

struct x5c_anchors *x5c_anchors_default(void)
{
    struct x5c_anchors *anchors;

    MUST(x5c_anchors_from_pem(STR(store_root), &anchors) == 0);
    return anchors;
}

void x5c_anchors_free(struct x5c_anchors *anchors)
{
    if (!anchors)
        return;
    for (size_t i = 0; i < anchors->count; i++)
        X509_free(anchors->items[i].certificate);
    free(anchors);
}

bool x5c_anchor_sha256(const struct x5c_anchors *anchors,
                       size_t index,
                       uint8_t ret[X5C_SHA256_BYTES])
{
    if (index >= anchors->count)
        return false;
    ossl_errors_clear();
    ossl_must(X509_digest(anchors->items[index].certificate, ossl_sha256(), ret, NULL),
              "certificate digest");
    return true;
}

/* --- cache of verified chains --- */

/* A chain with verified signatures, markers and keys. Each use checks the time of validity. */
struct chain {
    uint64_t anchors; /* number of the set; 0 = free */
    uint8_t hash[DIGEST_SHA256_BYTES];
    struct ec_key *key;
    struct validity valid;
    int64_t verified_ms; /* monotonic */
};
static struct chain cache[CACHE_MAX];

static void chain_hash(struct str leaf, struct str intermediate, uint8_t ret[DIGEST_SHA256_BYTES])
{
    /* Hash the length too, so that the same bytes, divided otherwise, are another chain. */
    const uint64_t leaf_bytes = leaf.len;
    struct digest digest = {0};

    digest_init(&digest);
    digest_update(&digest, (struct str){(const char *)&leaf_bytes, sizeof(leaf_bytes)});
    digest_update(&digest, leaf);
    digest_update(&digest, intermediate);
    digest_final(&digest, ret);
}

static bool chain_is_fresh(const struct chain *chain, int64_t now_ms)
{
    return chain->anchors != 0 && now_ms - chain->verified_ms < CHAIN_CACHE_MS;
}

static struct chain *chain_find(uint64_t anchors, const uint8_t *hash)
{
    int64_t now_ms = clock_mono_ms();

    for (size_t i = 0; i < CACHE_MAX; i++)
        if (cache[i].anchors == anchors && chain_is_fresh(&cache[i], now_ms) &&
            memcmp(cache[i].hash, hash, sizeof(cache[i].hash)) == 0)
            return &cache[i];
    return NULL;
}

/* Caches a chain and takes ownership of the key. A full cache drops the oldest chain. */
static struct chain *
chain_put(uint64_t anchors, const uint8_t *hash, struct ec_key *key, struct validity valid)
{
    struct chain *slot = &cache[0];

    for (size_t i = 0; i < CACHE_MAX && slot->anchors != 0; i++)
        if (cache[i].anchors == 0 || cache[i].verified_ms < slot->verified_ms)
            slot = &cache[i];
    ec_key_free(slot->key);
    *slot = (struct chain){
        .anchors = anchors, .key = key, .valid = valid, .verified_ms = clock_mono_ms()};
    memcpy(slot->hash, hash, sizeof(slot->hash));
    return slot;
}

/* --- verification --- */

static bool entry_decode(struct arena *arena, const json_t *list, size_t index, struct str *ret_der)
{
    const json_t *entry = json_array_get(list, index);

    if (!json_is_string(entry))
        return false;
    const struct str text = {json_string_value(entry), json_string_length(entry)};
    return text.len <= CERTIFICATE_BYTES_MAX * 4 / 3 + 4 &&
           codec_b64_decode(arena, text, ret_der) && ret_der->len > 0 &&
           ret_der->len <= CERTIFICATE_BYTES_MAX;
}

static X509 *certificate_read(struct str der)
{
    const unsigned char *at = (const unsigned char *)der.ptr;
    X509 *certificate = d2i_X509(NULL, &at, (long)der.len);

    if (certificate && at != (const unsigned char *)der.ptr + der.len) {
        X509_free(certificate);
        return NULL;
    }
    return certificate;
}

/* Returns whether X509_verify_cert(3) accepts the chain with one intermediate. The anchor is
 * trusted whether it is self-signed or not. The time of validity is checked later, at each use. */
static bool chain_has_anchor(const struct anchor *anchor, X509 *leaf, X509 *intermediate)
{
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    STACK_OF(X509) *between = sk_X509_new_null();
    STACK_OF(X509) *trusted = sk_X509_new_null();

    ossl_must(context && between && trusted && sk_X509_push(between, intermediate) > 0 &&
                  sk_X509_push(trusted, anchor->certificate) > 0 &&
                  X509_STORE_CTX_init(context, NULL, leaf, between),
              "certificate chain");
    X509_STORE_CTX_set0_trusted_stack(context, trusted);
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME);
    X509_VERIFY_PARAM_set_depth(param, 1);
    X509_VERIFY_PARAM_set_auth_level(param, SECURITY_LEVEL);
    bool good = X509_verify_cert(context) == 1;
    /* Refuse a chain without the intermediate, whose marker is checked: the anchor may have issued
     * the leaf. */
    good = good && sk_X509_num(X509_STORE_CTX_get0_chain(context)) == ENTRIES;
    sk_X509_free(between); /* frees the stack, not its certificates */
    sk_X509_free(trusted);
    X509_STORE_CTX_free(context);
    return good;
}

/* Returns the anchor that verifies the chain. When several anchors verify the chain (one name and
 * key), returns the anchor whose validity ends last. */
static const struct anchor *
anchor_find(const struct x5c_anchors *anchors, X509 *leaf, X509 *intermediate)
{
    const struct anchor *best = NULL;

    for (size_t i = 0; i < anchors->count; i++) {
        const struct anchor *anchor = &anchors->items[i];
        if ((!best || anchor->valid.to_ms > best->valid.to_ms) &&
            chain_has_anchor(anchor, leaf, intermediate))
            best = anchor;
    }
    return best;
}

/* Returns the P-256 key of a certificate, NULL when the certificate has another kind of key. */
static struct ec_key *leaf_key(X509 *leaf)
{
    struct ec_key *key = NULL;
    unsigned char *der = NULL;
    int der_bytes = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(leaf), &der);

    if (der_bytes <= 0)
        return NULL;
    if (ec_key_from_spki((struct str){(const char *)der, (size_t)der_bytes}, &key) != 0)
        key = NULL;
    OPENSSL_free(der);
    return key;
}

static int chain_check(const struct x5c_anchors *anchors,
                       X509 *leaf,
                       X509 *intermediate,
                       struct ec_key **ret_key,
                       struct validity *ret_valid)
{
    struct validity leaf_valid;
    struct validity intermediate_valid;

    const struct anchor *anchor = anchor_find(anchors, leaf, intermediate);
    if (!anchor)
        return X5C_UNTRUSTED;
    if (!has_extension(leaf, MARKER_LEAF) || !has_extension(intermediate, MARKER_INTERMEDIATE))
        return X5C_NO_MARKER;
    if (!validity_read(leaf, &leaf_valid) || !validity_read(intermediate, &intermediate_valid))
        return X5C_BAD;
    struct ec_key *key = leaf_key(leaf);
    if (!key)
        return X5C_UNTRUSTED;
    *ret_key = key;
    *ret_valid =
        validity_intersect(anchor->valid, validity_intersect(leaf_valid, intermediate_valid));
    return 0;
}

static int chain_verify(const struct x5c_anchors *anchors,
                        struct str leaf_der,
                        struct str intermediate_der,
                        struct ec_key **ret_key,
                        struct validity *ret_valid)
{
    X509 *leaf = certificate_read(leaf_der);
    X509 *intermediate = leaf ? certificate_read(intermediate_der) : NULL;
    int rc = X5C_BAD;

    if (intermediate)
        rc = chain_check(anchors, leaf, intermediate, ret_key, ret_valid);
    X509_free(intermediate);
    X509_free(leaf);
    ossl_errors_clear(); /* clears the errors of a refused chain */
    return rc;
}

int x5c_verify(struct arena *arena,
               const struct x5c_anchors *anchors,
               const json_t *header,
               int64_t at_ms,
               const struct ec_key **ret_key)
{
    const json_t *list = json_object_get(header, "x5c");
    uint8_t hash[DIGEST_SHA256_BYTES];
    struct str leaf;
    struct str intermediate;

    if (!json_is_array(list) || json_array_size(list) != ENTRIES ||
        !json_is_string(json_array_get(list, ENTRIES - 1)) ||
        !entry_decode(arena, list, 0, &leaf) || !entry_decode(arena, list, 1, &intermediate))
        return X5C_BAD;
    chain_hash(leaf, intermediate, hash);
    struct chain *chain = chain_find(anchors->number, hash);
    if (!chain) {
        struct ec_key *key;
        struct validity valid;
        ossl_errors_clear();
        TRY(chain_verify(anchors, leaf, intermediate, &key, &valid));
        chain = chain_put(anchors->number, hash, key, valid);
    }
    if (!validity_contains(&chain->valid, at_ms))
        return X5C_EXPIRED;
    *ret_key = chain->key;
    return 0;
}
