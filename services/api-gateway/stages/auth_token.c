/*
 * User access tokens: ES256 JWTs signed with the project's own keys. Each process caches a verified
 * token until the project's epoch changes, and reads the token's session again every five seconds.
 */
#include "base/clock.h"
#include "base/num.h"
#include "crypto/ec.h"
#include "crypto/jws.h"
#include "stages/refusals.h"
#include "stages/stages.h"
#include "stages_sql.h"

#define RECHECK_MS   5000
#define CLOCK_LEEWAY 30 /* seconds that the signing gateway's clock may be fast: of `iat` only */

static int token_refuse(struct req *r)
{
    return refusal(r, REFUSE_TOKEN, "The access token is not valid for this project.");
}

static int token_refuse_expired(struct req *r)
{
    return refusal(r, REFUSE_TOKEN_EXPIRED, "The access token has expired; refresh it.");
}

/* Looks up the kid among this project's keys only; the header cannot name other keys. */
AWAITS static int verify_signature(struct req *r, const struct jws *token)
{
    struct rows key_row;
    struct ec_key *key;

    if (!token->kid.len || token->kid.len > 64)
        return token_refuse(r);
    TRY(sql_all(r, &key_row, SQL_SIGNING_KEY(.key = token->kid)));
    if (!key_row.count)
        return token_refuse(r);
    const struct sql_signing_key_row point = sql_signing_key_row(&key_row, 0);
    if (ec_key_from_jwk(r->task.arena, point.x, point.y, &key) != 0)
        return token_refuse(r);
    arena_defer(r->task.arena, ec_key_free_deferred, key);
    return jws_verify_es256(token, key) == 0 ? 0 : token_refuse(r);
}

AWAITS static int check_session(struct req *r, struct credential *credential)
{
    /* Taken before the row is read, so that a later change counts as later. */
    int64_t request_ms = clock_mono_ms();
    struct rows session;

    TRY(sql_all(r, &session, SQL_SESSION_CHECK(.id = credential->session_id)));
    if (!session.count)
        return refusal(r, REFUSE_TOKEN, "The session of this token has ended.");
    const struct sql_session_check_row row = sql_session_check_row(&session, 0);
    if (row.ended || row.user_id != credential->user_id)
        return refusal(r, REFUSE_TOKEN, "The session of this token has ended.");
    credential->checked_ms = request_ms;
    return 0;
}

/* Accepts the project's address under any host name of this service, and "groundwork", which tokens
 * of older releases have. The signature is by the project's own key in any case. */
static bool is_issuer_valid(struct req *r, struct str iss)
{
    struct str path = arena_printf(r->task.arena, "/org/%.*s", STR_ARG(r->scope->project->slug));

    return str_is(iss, "groundwork") ||
           ((str_starts(iss, STR("http://")) || str_starts(iss, STR("https://"))) &&
            str_ends(iss, path));
}

AWAITS static int token_verify(struct req *r, struct str text, struct credential *ret)
{
    struct jws_expectations expect = {
        .aud = r->scope->project->slug,
        .typ = STR("at+jwt"),
        .now_s = clock_wall_ms() / 1000,
        .leeway_s = CLOCK_LEEWAY,
    };
    struct jws token;
    int64_t exp;
    int rc;

    if (jws_parse(r->task.arena, text, &token) != 0)
        return token_refuse(r);
    TRY(verify_signature(r, &token));
    rc = jws_claims_check(&token, &expect);
    if (rc)
        return rc == JWS_EXPIRED ? token_refuse_expired(r) : token_refuse(r);
    if (!is_issuer_valid(r, jws_claim_str(&token, "iss")))
        return token_refuse(r);
    if (!num_parse_i64(jws_claim_str(&token, "sub"), &ret->user_id) ||
        !jws_claim_i64(&token, "sid", &ret->session_id) || !jws_claim_i64(&token, "exp", &exp))
        return token_refuse(r);
    ret->expires_ms = exp * 1000;
    return check_session(r, ret);
}

int auth_token_check(struct req *r, struct str token, struct caller *caller)
{
    const struct credential *known = project_credential_get(r->scope->project, token);
    struct credential credential = {0};

    if (known)
        credential = *known;
    if (!known) {
        TRY(token_verify(r, token, &credential));
        project_credential_put(r->scope->project, token, &credential);
    } else if (clock_mono_ms() - credential.checked_ms > RECHECK_MS) {
        TRY(check_session(r, &credential));
        project_credential_put(r->scope->project, token, &credential);
    }
    if (credential.expires_ms <= clock_wall_ms())
        return token_refuse_expired(r);
    caller->ends_ms = credential.expires_ms;
    caller->kind = CALLER_USER;
    caller->user_id = credential.user_id;
    caller->session_id = credential.session_id;
    return 0;
}
