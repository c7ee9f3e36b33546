/* Signatures of mail: canonical forms, the signed headers, and verification with the public key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "unit.h"

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/codec.h"
#include "crypto/rsa_key.h"
#include "fetch/mail_dkim.h"

static struct arena *arena;
static struct rsa_key *key;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    if (key == NULL)
        key = rsa_key_generate();
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static struct str header_of(const char *message)
{
    const struct mail_dkim dkim = {STR("example.com"), STR("gw1"), key};

    return mail_dkim_header(arena, &dkim, str_from(message), 1700000000123);
}

static bool has(struct str text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* Returns the value without folding, as a receiver reads it. */
static struct str unfolded(struct str text)
{
    char *out = arena_alloc(arena, text.len);
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++)
        if (memchr(" \r\n\t", text.ptr[i], 4) == NULL)
            out[len++] = text.ptr[i];
    return (struct str){out, len};
}

static bool verifies(struct str text, struct str signature)
{
    struct str der = rsa_key_spki(arena, key);
    const unsigned char *at = (const unsigned char *)der.ptr;
    EVP_PKEY *pkey = d2i_PUBKEY(NULL, &at, (long)der.len);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_non_null(pkey);
    assert_int_equal(EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, pkey), 1);
    bool right = EVP_DigestVerify(ctx,
                                  (const unsigned char *)signature.ptr,
                                  signature.len,
                                  (const unsigned char *)text.ptr,
                                  text.len) == 1;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(pkey);
    return right;
}

/* RFC 6376, 3.4.4: the hash of an empty body; 3.4.5: the treatment of blanks and empty lines. */
TEST_WITH(test_bodies, setup, teardown)
{
    const char *empty = "bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=;";
    assert_true(has(header_of("From: a@b.example\r\n\r\n"), empty));
    assert_true(has(header_of("From: a@b.example\r\n\r\n\r\n \t\r\n\r\n"), empty));
    /* " C \r\nD \t E\r\n\r\n\r\n" is " C\r\nD E\r\n" */
    const char *example = "bh=";
    struct str one = header_of("From: a@b.example\r\n\r\n C \r\nD \t E\r\n\r\n\r\n");
    struct str two = header_of("From: a@b.example\r\n\r\n C\r\nD E\r\n");
    struct str three = header_of("From: a@b.example\r\n\r\n C\r\n\r\nD E\r\n");
    const char *at = memmem(one.ptr, one.len, example, 3);
    assert_true(has(two, arena_cstr(arena, (struct str){at, 47})));
    assert_false(has(three, arena_cstr(arena, (struct str){at, 47})));
}

TEST_WITH(test_signature, setup, teardown)
{
    struct str header = header_of(
        "Date:  Sun, 06 Nov 1994 08:49:37 +0000\r\nFROM: Ann\r\n\t <a@b.example> \r\n"
        "X-Other: not signed\r\nsubject: =?UTF-8?B?w7w=?=\r\n  =?UTF-8?B?w7w=?=\r\n\r\nbody\r\n");
    assert_true(
        str_starts(header, STR("DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;\r\n")));
    assert_true(has(header, " d=example.com; s=gw1;") && has(header, " t=1700000000;"));
    assert_true(str_ends(header, STR("\r\n")));
    assert_true(has(unfolded(header),
                    "h=from:from:to:cc:reply-to:subject:subject:date:date:message-id:mime-version:"
                    "content-type:content-transfer-encoding;"));
    const char *b = memmem(header.ptr, header.len, "\r\n b=", 5);
    assert_non_null(b);
    struct str value = {b + 5, (size_t)(header.ptr + header.len - b) - 5};
    struct str signature;
    assert_true(codec_b64_decode(arena, unfolded(value), &signature));
    assert_int_equal(signature.len, 256);
    /* The header up to "b=", its lines joined by one blank. */
    struct str own = {header.ptr + 16, (size_t)(b + 5 - header.ptr) - 16};
    char *joined = arena_alloc(arena, own.len);
    size_t len = 0;
    for (size_t i = 0; i < own.len; i++) {
        bool blank = memchr(" \r\n", own.ptr[i], 3) != NULL;
        if (!blank)
            joined[len++] = own.ptr[i];
        else if (joined[len - 1] != ' ')
            joined[len++] = ' ';
    }
    struct str text =
        arena_printf(arena,
                     "from:Ann <a@b.example>\r\nsubject:=?UTF-8?B?w7w=?= =?UTF-8?B?w7w=?=\r\n"
                     "date:Sun, 06 Nov 1994 08:49:37 +0000\r\ndkim-signature:%.*s",
                     (int)len,
                     joined);
    assert_true(verifies(text, signature));
    assert_false(verifies((struct str){text.ptr, text.len - 1}, signature));
}

TEST_WITH(test_no_line_is_long, setup, teardown)
{
    struct str rest = header_of("From: a@b.example\r\nTo: x\r\nSubject: s\r\nDate: "
                                "d\r\nMessage-ID: m\r\nMIME-Version: 1.0\r\n"
                                "Content-Type: text/plain\r\nCc: c\r\nReply-To: "
                                "r\r\nContent-Transfer-Encoding: base64\r\n\r\nx");
    while (rest.len > 0) {
        struct str line = str_split(&rest, '\n');
        assert_true(line.len < 100);
    }
}

TEST_WITH(test_keys, setup, teardown)
{
    struct rsa_key *again = NULL;
    struct str der = rsa_key_to_pkcs8(arena, key);
    assert_int_equal(rsa_key_from_pkcs8(der, &again), 0);
    assert_true(str_eq(rsa_key_spki(arena, again), rsa_key_spki(arena, key)));
    assert_true(verifies(STR("text"), rsa_sign_rs256(arena, again, STR("text"))));
    rsa_key_free(again);
    assert_int_equal(rsa_key_from_pkcs8((struct str){der.ptr, der.len - 1}, &again), RSA_KEY_BAD);
    assert_int_equal(rsa_key_from_pkcs8(STR("no key"), &again), RSA_KEY_BAD);
    assert_int_equal(rsa_key_from_pkcs8(STR_NONE, &again), RSA_KEY_BAD);
}

static int end(void **state UNUSED)
{
    rsa_key_free(key);
    return 0;
}

GROUP(NULL, end)
