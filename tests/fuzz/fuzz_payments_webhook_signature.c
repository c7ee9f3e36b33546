/*
 * Signature headers. "header\nbody" is checked unchanged; a header that passes must have the one
 * valid signature of the body, so changing any byte of the body must make the check fail.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/codec.h"
#include "base/panic.h"
#include "crypto/digest.h"
#include "payments/webhook_signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_MS INT64_C(1700000000000)

static const struct webhook_secret secrets[] = {
    {.secret = STR_INIT("whsec_old"), .expires_ms = NOW_MS},
    {.secret = STR_INIT("whsec_test")},
};

static int check(struct str header, struct str body)
{
    return webhook_signature_check(header, body, secrets, ARRAY_LEN(secrets), NOW_MS);
}

/* A header with the given time and a valid signature. */
static struct str sign(struct arena *arena, struct str time, struct str body)
{
    uint8_t mac[DIGEST_SHA256_BYTES];
    struct str text = arena_printf(arena, "%.*s.%.*s", STR_ARG(time), STR_ARG(body));

    digest_hmac_sha256(secrets[1].secret, text, mac);
    return codec_hex(arena, (struct str){(const char *)mac, sizeof(mac)});
}

/* Text after a valid signature leaves the header valid, or makes the header malformed. */
static void check_signed(struct arena *arena, struct str header, struct str body)
{
    struct str right = sign(arena, STR("1700000000"), body);
    struct str both =
        arena_printf(arena, "t=1700000000,v1=%.*s,%.*s", STR_ARG(right), STR_ARG(header));
    int rc = check(both, body);

    MUST(rc == 0 || rc == WEBHOOK_SIGNATURE_MALFORMED);
    if (rc == 0 && memchr(header.ptr, 'v', header.len) == NULL) {
        struct str other = arena_printf(arena, "%.*s ", STR_ARG(body));
        MUST(check(both, other) == WEBHOOK_SIGNATURE_WRONG);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str rest = {(const char *)data, size};
    struct str header = size ? str_split(&rest, '\n') : STR("");
    struct str body = rest.ptr ? rest : STR("");
    int rc = check(header, body);

    MUST(rc >= 0 && rc <= WEBHOOK_SIGNATURE_NO_SECRET);
    if (rc == 0)
        MUST(memmem(header.ptr, header.len, "v1=", 3) != NULL);
    /* Text with NUL cannot go through printf. */
    if (memchr(data, 0, size) == NULL)
        check_signed(arena, header, body);
    arena_free(arena);
    return 0;
}
