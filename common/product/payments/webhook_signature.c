/* Verifies the header Stripe-Signature. */
#include "payments/webhook_signature.h"

#include "base/num.h"
#include "crypto/ct.h"
#include "crypto/digest.h"

#define HEX_BYTES ((size_t)2 * DIGEST_SHA256_BYTES)

struct signature {
    struct str time; /* as sent, because it is part of the signed text */
    int64_t time_s;
    struct str v1[WEBHOOK_V1_MAX];
    size_t count;
};

static int signature_add_item(struct signature *signature, struct str item)
{
    struct str name = str_split(&item, '=');
    struct str value = item;

    if (value.ptr == NULL)
        return WEBHOOK_SIGNATURE_MALFORMED;
    if (str_is(name, "t")) {
        if (signature->time.ptr != NULL || !num_parse_i64(value, &signature->time_s))
            return WEBHOOK_SIGNATURE_MALFORMED;
        signature->time = value;
    } else if (str_is(name, "v1")) {
        if (signature->count == WEBHOOK_V1_MAX)
            return WEBHOOK_SIGNATURE_MALFORMED;
        signature->v1[signature->count++] = value;
    }
    return 0; /* v0 and unknown schemes are ignored */
}

static int signature_parse(struct str header, struct signature *ret)
{
    struct str rest = header;

    *ret = (struct signature){.count = 0};
    if (header.len == 0 || header.len > WEBHOOK_HEADER_BYTES)
        return WEBHOOK_SIGNATURE_MALFORMED;
    while (rest.ptr != NULL)
        TRY(signature_add_item(ret, str_trim(str_split(&rest, ','))));
    return ret->time.ptr != NULL && ret->count > 0 ? 0 : WEBHOOK_SIGNATURE_MALFORMED;
}

static void signature_expected(struct str secret,
                               const struct signature *signature,
                               struct str body,
                               char ret[HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    const struct str parts[] = {signature->time, STR("."), body};
    uint8_t mac[DIGEST_SHA256_BYTES];

    digest_hmac_sha256_parts(secret, parts, ARRAY_LEN(parts), mac);
    for (size_t i = 0; i < sizeof(mac); i++) {
        ret[2 * i] = digits[mac[i] >> 4];
        ret[2 * i + 1] = digits[mac[i] & 15];
    }
}

int webhook_signature_check(struct str header,
                            struct str body,
                            const struct webhook_secret *secrets,
                            size_t count,
                            int64_t now_ms)
{
    struct signature signature;
    int64_t now_s = now_ms / 1000;
    size_t active = 0;
    unsigned matches = 0;

    TRY(signature_parse(header, &signature));
    if (signature.time_s < now_s - WEBHOOK_TOLERANCE_S ||
        signature.time_s > now_s + WEBHOOK_TOLERANCE_S)
        return WEBHOOK_SIGNATURE_STALE;
    for (size_t i = 0; i < count; i++) {
        char hex[HEX_BYTES];
        bool expired = secrets[i].expires_ms != 0 && secrets[i].expires_ms <= now_ms;
        if (expired || secrets[i].secret.len == 0)
            continue;
        active++;
        signature_expected(secrets[i].secret, &signature, body, hex);
        for (size_t j = 0; j < signature.count; j++)
            matches += ct_eq((struct str){hex, sizeof(hex)}, signature.v1[j]);
    }
    if (active == 0)
        return WEBHOOK_SIGNATURE_NO_SECRET;
    return matches > 0 ? 0 : WEBHOOK_SIGNATURE_WRONG;
}
