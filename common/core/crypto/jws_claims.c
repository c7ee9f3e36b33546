/* JWT claims: compares the claims of a verified token with the expected values (RFC 7519
 * section 4.1). */
#include "crypto/jws.h"

struct str jws_claim_str(const struct jws *jws, const char *name)
{
    const json_t *value = json_object_get(jws->claims, name);
    if (!json_is_string(value))
        return STR_NONE;
    return (struct str){json_string_value(value), json_string_length(value)};
}

bool jws_claim_i64(const struct jws *jws, const char *name, int64_t *ret_value)
{
    const json_t *value = json_object_get(jws->claims, name);
    if (!json_is_integer(value))
        return false;
    *ret_value = json_integer_value(value);
    return true;
}

#define TIME_MAX 9007199254740992.0 /* a double represents every second up to here */

/* Reads an optional time; *ret_present tells whether the claim is present. Returns JWS_BAD_CLAIM
 * when the claim is not an integer, or with `fractions` (RFC 7519 section 2) no number in range. */
static int claim_time_read(const struct jws *jws,
                           const struct jws_expectations *expect,
                           const char *name,
                           bool *ret_present,
                           int64_t *ret_s)
{
    const json_t *value = json_object_get(jws->claims, name);

    *ret_present = value != NULL;
    if (expect->fractions && json_is_real(value)) {
        double seconds = json_real_value(value);
        if (!(seconds > -TIME_MAX && seconds < TIME_MAX))
            return JWS_BAD_CLAIM;
        *ret_s = (int64_t)seconds;
        return 0;
    }
    return value == NULL || jws_claim_i64(jws, name, ret_s) ? 0 : JWS_BAD_CLAIM;
}

/* Does arithmetic only with the numbers of `expect`, which are small: those of the token may have
 * any value and could overflow. */
static int times_check(const struct jws *jws, const struct jws_expectations *expect)
{
    int64_t exp = 0;
    int64_t nbf = 0;
    int64_t iat = 0;
    bool has_exp;
    bool has_nbf;
    bool has_iat;

    TRY(claim_time_read(jws, expect, "exp", &has_exp, &exp));
    TRY(claim_time_read(jws, expect, "nbf", &has_nbf, &nbf));
    TRY(claim_time_read(jws, expect, "iat", &has_iat, &iat));
    if (!has_exp || (expect->max_age_s > 0 && !has_iat))
        return JWS_BAD_CLAIM;
    if (exp <= expect->now_s - expect->leeway_s)
        return JWS_EXPIRED;
    if (has_nbf && nbf > expect->now_s + expect->leeway_s)
        return JWS_NOT_YET;
    if (has_iat && iat > expect->now_s + expect->leeway_s)
        return JWS_NOT_YET;
    if (expect->max_age_s > 0 && iat < expect->now_s - expect->leeway_s - expect->max_age_s)
        return JWS_EXPIRED;
    return 0;
}

static int issuer_check(const struct jws *jws, const struct jws_expectations *expect)
{
    if (expect->iss.len == 0)
        return 0;
    struct str iss = jws_claim_str(jws, "iss");
    if (str_eq(iss, expect->iss))
        return 0;
    if (expect->iss_alt.len > 0 && str_eq(iss, expect->iss_alt))
        return 0;
    return JWS_BAD_ISSUER;
}

static bool json_is_text(const json_t *value, struct str text)
{
    return json_is_string(value) &&
           str_eq((struct str){json_string_value(value), json_string_length(value)}, text);
}

/* The audience is one string, or an array of strings only. */
static int audience_check(const struct jws *jws, const struct jws_expectations *expect)
{
    const json_t *aud = json_object_get(jws->claims, "aud");
    const json_t *azp = json_object_get(jws->claims, "azp");
    bool found = json_is_text(aud, expect->aud);
    size_t count = 1;

    if (expect->aud.len == 0)
        return 0;
    if (json_is_array(aud)) {
        count = json_array_size(aud);
        for (size_t i = 0; i < count; i++) {
            const json_t *one = json_array_get(aud, i);
            if (!json_is_string(one))
                return JWS_BAD_AUDIENCE;
            found = found || json_is_text(one, expect->aud);
        }
    }
    if (!found)
        return JWS_BAD_AUDIENCE;
    if (expect->azp && (azp || count > 1) && !json_is_text(azp, expect->aud))
        return JWS_BAD_AUDIENCE;
    return 0;
}

int jws_claims_check(const struct jws *jws, const struct jws_expectations *expect)
{
    if (expect->typ.len > 0 && !str_ieq(jws->typ, expect->typ))
        return JWS_BAD_TYPE;
    TRY(issuer_check(jws, expect));
    TRY(audience_check(jws, expect));
    return times_check(jws, expect);
}
