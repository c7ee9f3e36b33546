/* Sessions: starts them, and writes the bodies that return their tokens. */
#include "areas/auth/auth_session.h"

#include "areas/access/users.h"
#include "areas/auth/auth_key.h"
#include "auth_sql.h"
#include "base/clock.h"
#include "base/codec.h"
#include "base/rand.h"
#include "crypto/digest.h"

#define SECRET_BYTES   32
#define USER_AGENT_MAX 300

#define TOKEN_MEMBERS                                                                              \
    {.name = "access_token", .type = FIELD_STR, .required = true, .doc = "JWT, ES256"},            \
        {.name = "token_type", .type = FIELD_STR, .required = true, .example = "\"bearer\""},      \
        {.name = "expires_in", .type = FIELD_I64, .required = true, .doc = "Seconds"},             \
        {.name = "expires_at",                                                                     \
         .type = FIELD_I64,                                                                        \
         .required = true,                                                                         \
         .doc = "Seconds since 1970-01-01 UTC"},                                                   \
        {.name = "refresh_token", .type = FIELD_STR, .required = true, .doc = "Single use"},       \
    {                                                                                              \
        .name = "user", .type = FIELD_OBJ, .required = true, .sub = &auth_user_schema              \
    }

static const struct field token_fields[] = {TOKEN_MEMBERS};
const struct schema auth_tokens_schema = SCHEMA_OUT("Tokens", token_fields);

static const struct field provider_token_fields[] = {
    TOKEN_MEMBERS,
    {.name = "is_new_user", .type = FIELD_BOOL, .required = true},
};
const struct schema auth_provider_tokens_schema =
    SCHEMA_OUT("ProviderTokens", provider_token_fields);

struct str auth_secret_new(struct arena *arena)
{
    char bytes[SECRET_BYTES];

    rand_bytes(bytes, sizeof(bytes));
    return codec_b64url(arena, (struct str){bytes, sizeof(bytes)});
}

struct str auth_secret_hash(struct arena *arena, struct str secret)
{
    uint8_t *hash = arena_alloc(arena, DIGEST_SHA256_BYTES);

    digest_sha256(secret, hash);
    return (struct str){(const char *)hash, DIGEST_SHA256_BYTES};
}

int auth_account_check(struct req *r, struct str status, bool confirmed)
{
    if (str_is(status, "suspended"))
        return fail(r, PROBLEM_USER_SUSPENDED, "This account is suspended.");
    if (!str_is(status, "active") ||
        (!confirmed && r->scope->project->settings.require_confirmed_email))
        return fail(r, PROBLEM_EMAIL_NOT_CONFIRMED, "Confirm the e-mail address first.");
    return 0;
}

/* Replaces all but printable ASCII: PostgreSQL accepts valid UTF-8 only, and a client may send any
 * bytes. */
static struct str plain_user_agent(struct req *r)
{
    struct str given = req_header(r, "user-agent");
    size_t len = given.len < USER_AGENT_MAX ? given.len : USER_AGENT_MAX;
    char *text = arena_alloc(r->task.arena, len + 1);

    for (size_t i = 0; i < len; i++)
        text[i] = given.ptr[i] >= ' ' && given.ptr[i] <= '~' ? given.ptr[i] : '?';
    return (struct str){text, len};
}

static struct str
access_claims(struct req *r, int64_t session_id, int64_t now_s, const struct auth_tokens *tokens)
{
    const struct sql_account_user_row user = sql_account_user_row(r->task.arena, &tokens->user, 0);
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, 65536);
    jw_init(&w, &text);
    jw_obj(&w);
    JW_STR(&w, "iss", gateway_base_url(r));
    JW_STR(&w, "aud", r->scope->project->slug);
    JW_STR(&w, "sub", arena_printf(r->task.arena, "%lld", (long long)user.id));
    JW_I64(&w, "sid", session_id);
    jw_lit(&w, "role_ids");
    jw_arr(&w);
    for (size_t i = 0; i < user.role_ids.count; i++)
        jw_i64(&w, user.role_ids.items[i]);
    jw_arr_end(&w);
    JW_I64(&w, "iat", now_s);
    JW_I64(&w, "exp", tokens->expires_at);
    jw_obj_end(&w);
    return strbuf_view(&text);
}

int auth_session_issue(struct req *r,
                       int64_t session_id,
                       int64_t session_expires_ms,
                       const struct rows *key,
                       struct auth_tokens *tokens)
{
    int64_t now_s = clock_wall_ms() / 1000;

    tokens->expires_in = r->scope->project->settings.access_token_seconds;
    if (now_s + tokens->expires_in > session_expires_ms / 1000)
        tokens->expires_in = session_expires_ms / 1000 - now_s;
    tokens->expires_at = now_s + tokens->expires_in;
    return auth_key_sign(
        r, key, access_claims(r, session_id, now_s, tokens), &tokens->access_token);
}

int auth_session_start(struct req *r,
                       int64_t user_id,
                       struct str old_hash,
                       struct str new_hash,
                       struct auth_tokens *ret_tokens)
{
    struct auth_tokens tokens = {.refresh_token = auth_secret_new(r->task.arena)};
    struct str hash = auth_secret_hash(r->task.arena, tokens.refresh_token);
    struct db_call calls[] = {
        db_call(SQL_SESSION_ADD(.user_id = user_id,
                                .user_agent = plain_user_agent(r),
                                .address = str_from(r->peer),
                                .seconds = r->scope->project->settings.session_seconds)),
        db_call(SQL_REFRESH_ADD_FIRST(.hash = hash)),
        db_call(SQL_SESSION_PRUNE(.user_id = user_id)),
        db_call(SQL_ACCOUNT_SIGNED_IN(.id = user_id,
                                      .password_hash = new_hash.ptr ? old_hash : STR_NONE,
                                      .rehashed = new_hash)),
        db_call(SQL_ACCOUNT_USER(.id = user_id)),
        db_call(SQL_SIGNING_KEY_ACTIVE()),
    };
    int rc = db_batch(&r->task, r->scope->db, calls, ARRAY_LEN(calls), NULL);

    if (rc == DB_FOREIGN_KEY) /* the account was deleted after the password check */
        return fail(r, PROBLEM_INVALID_CREDENTIALS, "The account no longer exists.");
    TRY(sql_check(r, rc));
    const struct rows *session = &calls[0].rows;
    tokens.user = calls[4].rows;
    TRY(auth_session_issue(r,
                           sql_session_add_row(session, 0).id,
                           sql_session_add_row(session, 0).expires_at,
                           &calls[5].rows,
                           &tokens));
    *ret_tokens = tokens;
    return 0;
}

void auth_tokens_members(struct jw *w, const struct auth_tokens *tokens)
{
    JW_STR(w, "access_token", tokens->access_token);
    JW_CSTR(w, "token_type", "bearer");
    JW_I64(w, "expires_in", tokens->expires_in);
    JW_I64(w, "expires_at", tokens->expires_at);
    JW_STR(w, "refresh_token", tokens->refresh_token);
    jw_lit(w, "user");
    jw_obj(w);
    rows_json_members(w, &tokens->user, 0);
    jw_obj_end(w);
}

int auth_tokens_reply(struct req *r, const struct auth_tokens *tokens)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    auth_tokens_members(&w, tokens);
    jw_obj_end(&w);
    resp_header(r, "Pragma", STR("no-cache")); /* RFC 6749, 5.1 */
    return reply_json(r, 200);
}
