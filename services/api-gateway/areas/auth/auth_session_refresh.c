/* Refresh tokens: rotation, the grace time for a lost answer, and the reaction to reuse. */
#include "areas/auth/auth_session.h"
#include "auth_sql.h"
#include "project/unseal.h"
#include "stages/stages.h"

/* RFC 9700 (4.14.2) ends the session when a token is used twice. Two cases are no theft: a client
 * that sends the same refresh twice at once (10 s), and a client that never got the answer (60 s,
 * while the successor is unused). Both get the same successor again. */

#define TOKEN_MAX 128

static struct str successor_aad(struct req *r, int64_t token_id)
{
    return aad_successor(r->task.arena, r->scope->project->number, token_id);
}

/* Commits the transaction and signs an access token for the session of the locked row. */
AWAITS static int refresh_finish(struct req *r,
                                 const struct sql_refresh_lock_row *token,
                                 const struct rows *user,
                                 const struct rows *key,
                                 struct auth_tokens *tokens)
{
    TRY(sql_commit(r));
    tokens->user = *user;
    return auth_session_issue(r, token->session_id, token->session_expires_at, key, tokens);
}

AWAITS static int
refresh_rotate(struct req *r, const struct sql_refresh_lock_row *token, struct auth_tokens *tokens)
{
    int64_t id = token->id;
    int64_t session_id = token->session_id;
    struct arena *arena = r->task.arena;

    tokens->refresh_token = auth_secret_new(arena);
    struct str hash = auth_secret_hash(arena, tokens->refresh_token);
    struct str sealed =
        aead_seal(arena, &r->scope->project->data_key, tokens->refresh_token, successor_aad(r, id));
    struct db_call calls[] = {
        db_call(SQL_REFRESH_USE(.id = id, .successor = sealed)),
        db_call(SQL_REFRESH_ADD(.session_id = session_id, .parent_id = id, .hash = hash)),
        db_call(SQL_REFRESH_FORGET(.session_id = session_id)),
        db_call(SQL_SESSION_USED(.id = session_id, .address = str_from(r->peer))),
        db_call(SQL_ACCOUNT_USER(.id = token->user_id)),
        db_call(SQL_SIGNING_KEY_ACTIVE()),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    return refresh_finish(r, token, &calls[4].rows, &calls[5].rows, tokens);
}

/* Finds the successor if this second use is within the grace time; otherwise *ret_successor is
 * STR_NONE. */
AWAITS static int
find_successor(struct req *r, const struct sql_refresh_lock_row *token, struct str *ret_successor)
{
    int64_t id = token->id;
    struct rows child;

    *ret_successor = STR_NONE;
    if (!token->successor.ptr || !token->recently_used)
        return 0;
    /* A separate statement: the lock was waited for, so the child may be newer than the first
     * snapshot. */
    TRY(sql_all(r, &child, SQL_REFRESH_CHILD(.session_id = token->session_id, .parent_id = id)));
    if (!token->just_used && !(child.count && sql_refresh_child_row(&child, 0).unused))
        return 0;
    if (data_key_open(
            &r->task, r->scope->project, token->successor, successor_aad(r, id), ret_successor) !=
        0)
        *ret_successor = STR_NONE;
    return 0;
}

AWAITS static int end_stolen_session(struct req *r, const struct sql_refresh_lock_row *token)
{
    int64_t session_id = token->session_id;
    struct str detail =
        arena_printf(r->task.arena, "{\"user_id\":%lld}", (long long)token->user_id);
    struct db_call calls[] = {
        db_call(SQL_SESSION_REVOKE(.id = session_id)),
        gateway_audit(r, "auth.refresh_token_reused", "session", session_id, detail),
    };

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    gateway_raise_epoch(r);
    log_warn("auth.refresh_token_reused", L_I64("session", session_id));
    return fail(
        r, PROBLEM_REFRESH_TOKEN_REUSED, "This token was used before; the session has ended.");
}

AWAITS static int
refresh_repeat(struct req *r, const struct sql_refresh_lock_row *token, struct auth_tokens *tokens)
{
    TRY(find_successor(r, token, &tokens->refresh_token));
    if (!tokens->refresh_token.ptr)
        return end_stolen_session(r, token);
    struct db_call calls[] = {
        db_call(SQL_ACCOUNT_USER(.id = token->user_id)),
        db_call(SQL_SIGNING_KEY_ACTIVE()),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    return refresh_finish(r, token, &calls[0].rows, &calls[1].rows, tokens);
}

/* An unknown token is a guess, and counts like a guess of a password. */
AWAITS static int refresh_refuse_unknown(struct req *r)
{
    TRY(rate_limit_address(r, "refresh"));
    return fail(
        r, PROBLEM_REFRESH_TOKEN_INVALID, "The refresh token is not valid for this project.");
}

/* A guess costs at most one read. A session may exchange its tokens as often as a network address
 * may sign in (rate_sign_in_address). */
AWAITS static int refresh_check_known(struct req *r, struct str hash)
{
    struct rows known;

    TRY(rate_limit_address_refused(r, "refresh"));
    TRY(sql_all(r, &known, SQL_REFRESH_KNOWN(.hash = hash)));
    if (!known.count)
        return refresh_refuse_unknown(r);
    return rate_limit_sign_in(r,
                              "session",
                              sql_refresh_known_row(&known, 0).session,
                              r->scope->project->settings.rate_sign_in_address);
}

int auth_session_refresh(struct req *r, struct str token, struct auth_tokens *ret_tokens)
{
    struct str hash = auth_secret_hash(r->task.arena, token);
    struct auth_tokens tokens = {0};
    struct rows locked;

    if (token.len > TOKEN_MAX)
        return refresh_refuse_unknown(r);
    TRY(refresh_check_known(r, hash));
    TRY(sql_begin(r));
    TRY(sql_all(
        r,
        &locked,
        SQL_REFRESH_LOCK(.hash = hash,
                         .lives_seconds = r->scope->project->settings.refresh_token_seconds)));
    if (!locked.count)
        return refresh_refuse_unknown(r);
    const struct sql_refresh_lock_row row = sql_refresh_lock_row(r->task.arena, &locked, 0);
    if (row.ended)
        return fail(r, PROBLEM_SESSION_EXPIRED, "The session has ended; sign in again.");
    TRY(auth_account_check(r, row.status, row.confirmed));
    if (row.used)
        TRY(refresh_repeat(r, &row, &tokens));
    else if (row.expired)
        return fail(
            r, PROBLEM_SESSION_EXPIRED, "The refresh token was not used in time; sign in again.");
    else
        TRY(refresh_rotate(r, &row, &tokens));
    *ret_tokens = tokens;
    return 0;
}
