/* API keys are random and found by their SHA-256, so the time of a look-up reveals no key. */
#include "base/clock.h"
#include "crypto/digest.h"
#include "stages/refusals.h"
#include "stages/stages.h"
#include "stages_sql.h"

#define RECHECK_MS  5000
#define KEY_MAX_LEN 128

AWAITS static int apikey_read_key(struct req *r, struct str key, struct credential *ret)
{
    /* Taken before the row is read, so that a later change counts as later. */
    int64_t request_ms = clock_mono_ms();
    uint8_t *hash = arena_alloc(r->task.arena, 32);
    struct rows found;

    digest_sha256(key, hash);
    TRY(sql_all(r, &found, SQL_API_KEY_FIND(.hash = ((struct str){(const char *)hash, 32}))));
    if (!found.count)
        return refusal(r, REFUSE_TOKEN, "The API key is not valid for this project.");
    const struct sql_api_key_find_row row = sql_api_key_find_row(&found, 0);
    *ret = (struct credential){
        .key_id = row.id,
        .user_id = row.user_id,
        .expires_ms = row.expires_at,
        .checked_ms = request_ms,
    };
    return sql_exec(r, NULL, SQL_API_KEY_USED(.id = ret->key_id));
}

int auth_apikey_check(struct req *r, struct str key, struct caller *caller)
{
    const struct credential *known = project_credential_get(r->scope->project, key);
    struct credential credential = {0};

    if (!str_starts(key, STR("ak_")) || key.len > KEY_MAX_LEN)
        return refusal(r, REFUSE_TOKEN, "The API key is not valid for this project.");
    if (known)
        credential = *known;
    if (!known || clock_mono_ms() - credential.checked_ms > RECHECK_MS) {
        TRY(apikey_read_key(r, key, &credential));
        project_credential_put(r->scope->project, key, &credential);
    }
    if (credential.expires_ms <= clock_wall_ms())
        return refusal(r, REFUSE_TOKEN_EXPIRED, "The API key has expired.");
    caller->ends_ms = credential.expires_ms;
    caller->kind = CALLER_KEY;
    caller->user_id = credential.user_id;
    caller->key_id = credential.key_id;
    return 0;
}
