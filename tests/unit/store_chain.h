#pragma once
/* Certificate chains like those of the app store, or with one fault, and tokens that they sign. */
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <time.h>

#include "base/arena.h"
#include "base/codec.h"
#include "base/panic.h"
#include "crypto/ec.h"

#define CHAIN_DAY_S 86400L

/* Faults of a chain. All zero: a valid chain, from a day before `at_s` for a year. */
struct chain_wish {
    bool no_leaf_marker, no_intermediate_marker;
    bool no_ca;             /* the intermediate has no basic constraints */
    bool sha1;              /* the root signs the intermediate with SHA-1 */
    bool critical;          /* the leaf has an unknown critical extension */
    bool other_issuer;      /* the leaf names an issuer that did not sign it */
    const char *leaf_curve; /* NULL = P-256 */
    long leaf_days, intermediate_days, root_days; /* days of validity; 0 = a year */
};

/* The chain of a test. chain_free() frees its keys and certificates. */
struct chain {
    EVP_PKEY *root_key, *intermediate_key, *leaf_key;
    X509 *root, *intermediate, *leaf;
    struct ec_key *signer; /* P-256 leaves */
    struct str x5c[3];     /* base64, arena-owned */
    struct str pem;        /* the root */
};

static UNUSED void
chain_extension(X509 *certificate, const char *name, const char *value, bool critical)
{
    ASN1_OBJECT *object = OBJ_txt2obj(name, 1);
    ASN1_OCTET_STRING *octets = ASN1_OCTET_STRING_new();
    X509_EXTENSION *extension;

    MUST(ASN1_OCTET_STRING_set(octets, (const unsigned char *)value, 2) == 1);
    extension = X509_EXTENSION_create_by_OBJ(NULL, object, critical, octets);
    MUST(X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
    ASN1_OCTET_STRING_free(octets);
    ASN1_OBJECT_free(object);
}

static UNUSED void chain_authority(X509 *certificate)
{
    X509_EXTENSION *extension =
        X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");

    MUST(extension && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static UNUSED X509 *
chain_certificate(const char *name, const char *issuer, EVP_PKEY *key, time_t at_s, long days)
{
    static long serial = 1000;
    X509 *certificate = X509_new();

    MUST(certificate && X509_set_version(certificate, 2) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    ASN1_TIME_set(X509_getm_notBefore(certificate), at_s - CHAIN_DAY_S);
    ASN1_TIME_set(X509_getm_notAfter(certificate), at_s + (days ? days : 365) * CHAIN_DAY_S);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate),
                               "CN",
                               MBSTRING_ASC,
                               (const unsigned char *)name,
                               -1,
                               -1,
                               0);
    X509_NAME_add_entry_by_txt(X509_get_issuer_name(certificate),
                               "CN",
                               MBSTRING_ASC,
                               (const unsigned char *)issuer,
                               -1,
                               -1,
                               0);
    MUST(X509_set_pubkey(certificate, key) == 1);
    return certificate;
}

static UNUSED struct str chain_base64(struct arena *arena, X509 *certificate)
{
    unsigned char *der = NULL;
    int bytes = i2d_X509(certificate, &der);

    MUST(bytes > 0);
    struct str text = codec_b64(arena, (struct str){(const char *)der, (size_t)bytes});
    OPENSSL_free(der);
    return text;
}

static UNUSED struct str chain_pem(struct arena *arena, X509 *certificate)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;

    MUST(PEM_write_bio_X509(bio, certificate) == 1);
    long bytes = BIO_get_mem_data(bio, &text);
    struct str pem = arena_dup(arena, (struct str){text, (size_t)bytes});
    BIO_free(bio);
    return pem;
}

static UNUSED struct ec_key *chain_signer(struct arena *arena, EVP_PKEY *key)
{
    PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
    unsigned char *der = NULL;
    int bytes = i2d_PKCS8_PRIV_KEY_INFO(info, &der);
    struct ec_key *signer = NULL;

    PKCS8_PRIV_KEY_INFO_free(info);
    if (ec_key_from_pkcs8((struct str){(const char *)der, (size_t)bytes}, &signer) != 0)
        signer = NULL; /* a leaf with a key of another kind signs nothing here */
    OPENSSL_free(der);
    if (signer)
        arena_defer(arena, ec_key_free_deferred, signer);
    return signer;
}

static UNUSED void chain_free(void *ptr)
{
    struct chain *chain = ptr;

    X509_free(chain->root);
    X509_free(chain->intermediate);
    X509_free(chain->leaf);
    EVP_PKEY_free(chain->root_key);
    EVP_PKEY_free(chain->intermediate_key);
    EVP_PKEY_free(chain->leaf_key);
}

/* Returns a chain that lives as long as the arena. */
static UNUSED struct chain *
chain_new(struct arena *arena, time_t at_s, const struct chain_wish *wish)
{
    struct chain *chain = ARENA_NEW(arena, chain);

    arena_defer(arena, chain_free, chain);
    chain->root_key = EVP_EC_gen("P-384");
    chain->intermediate_key = EVP_EC_gen("P-384");
    chain->leaf_key = EVP_EC_gen(wish->leaf_curve ? wish->leaf_curve : "P-256");
    chain->root =
        chain_certificate("Test Root", "Test Root", chain->root_key, at_s, wish->root_days);
    chain_authority(chain->root);
    MUST(X509_sign(chain->root, chain->root_key, EVP_sha384()) > 0);

    chain->intermediate = chain_certificate(
        "Test Authority", "Test Root", chain->intermediate_key, at_s, wish->intermediate_days);
    if (!wish->no_ca)
        chain_authority(chain->intermediate);
    if (!wish->no_intermediate_marker)
        chain_extension(chain->intermediate, "1.2.840.113635.100.6.2.1", "\5\0", false);
    MUST(X509_sign(chain->intermediate, chain->root_key, wish->sha1 ? EVP_sha1() : EVP_sha384()) >
         0);

    chain->leaf = chain_certificate("Test Signer",
                                    wish->other_issuer ? "Test Root" : "Test Authority",
                                    chain->leaf_key,
                                    at_s,
                                    wish->leaf_days);
    if (!wish->no_leaf_marker)
        chain_extension(chain->leaf, "1.2.840.113635.100.6.11.1", "\5\0", false);
    if (wish->critical)
        chain_extension(chain->leaf, "1.2.840.113635.100.6.99", "\5\0", true);
    MUST(X509_sign(chain->leaf, chain->intermediate_key, EVP_sha384()) > 0);

    chain->x5c[0] = chain_base64(arena, chain->leaf);
    chain->x5c[1] = chain_base64(arena, chain->intermediate);
    chain->x5c[2] = chain_base64(arena, chain->root);
    chain->pem = chain_pem(arena, chain->root);
    chain->signer = chain_signer(arena, chain->leaf_key);
    return chain;
}

/* Returns the usual header of a token that the chain signs. */
static UNUSED struct str chain_header(struct arena *arena, const struct chain *chain)
{
    return arena_printf(arena,
                        "{\"alg\":\"ES256\",\"x5c\":[\"%.*s\",\"%.*s\",\"%.*s\"]}",
                        STR_ARG(chain->x5c[0]),
                        STR_ARG(chain->x5c[1]),
                        STR_ARG(chain->x5c[2]));
}

static UNUSED struct str chain_sign_as(struct arena *arena,
                                       const struct ec_key *signer,
                                       struct str header,
                                       struct str payload)
{
    uint8_t signature[EC_SIGNATURE_BYTES];
    struct str input = arena_printf(arena,
                                    "%.*s.%.*s",
                                    STR_ARG(codec_b64url(arena, header)),
                                    STR_ARG(codec_b64url(arena, payload)));

    ec_sign_es256(signer, input, signature);
    return arena_printf(
        arena,
        "%.*s.%.*s",
        STR_ARG(input),
        STR_ARG(codec_b64url(arena, (struct str){(const char *)signature, sizeof(signature)})));
}

static UNUSED struct str
chain_sign(struct arena *arena, const struct chain *chain, struct str payload)
{
    return chain_sign_as(arena, chain->signer, chain_header(arena, chain), payload);
}
