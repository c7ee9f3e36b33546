/*
 * Locks that editors hold on records for a limited time. A lock has a random token, stored as a
 * hash, that writes must present while the lock lasts. The database's clock alone decides when a
 * lock ends.
 */
#include "base/codec.h"
#include "base/rand.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"
#include "records/write/explain.h"
#include "records/write/write.h"

enum { TOKEN_BYTES = 32, TTL_MAX_S = 3600, TTL_DEFAULT_S = 60 };

struct lock {
    int64_t id;
    int64_t ttl_seconds;
    struct str token;
    int64_t expires_ms;
};

/* Extends a lock for a caller who presents its token. */
static struct db_call
lock_extend_call(struct records_ctx *ctx, const struct entity *entity, const struct lock *lock)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_str(&sql, STR("update {p}.record_locks as k set expires_at = now() + "));
    sql_bind(&sql, &params, P_I64(lock->ttl_seconds), "bigint");
    strbuf_printf(&sql,
                  " * interval '1 second' where k.entity_id = %lld and k.expires_at > now()"
                  " and k.record_id = ",
                  (long long)entity->id);
    sql_bind(&sql, &params, P_I64(lock->id), "bigint");
    strbuf_str(&sql, STR(" and k.token_hash = "));
    sql_bind(&sql, &params, write_token_hash(arena, ctx->lock_token), "bytea");
    strbuf_printf(&sql,
                  " and exists (select 1 from {p}.%.*s t where t.id = k.record_id",
                  STR_ARG(entity->table));
    (void)rls_put_where(ctx, entity, ACT_UPDATE, "t", &sql, &params);
    strbuf_str(&sql, STR(") returning k.expires_at"));
    return write_call(ctx, "items.lock_extend", &sql, &params, true);
}

/* Takes a new lock; replaces a lock that has ended. */
static struct db_call
lock_take_call(struct records_ctx *ctx, const struct entity *entity, const struct lock *lock)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql,
                  "insert into {p}.record_locks as k"
                  " (entity_id, record_id, token_hash, user_id, expires_at) select %lld, t.id, ",
                  (long long)entity->id);
    sql_bind(&sql, &params, write_token_hash(arena, lock->token), "bytea");
    strbuf_str(&sql, STR(", "));
    sql_bind(&sql, &params, P_I64(ctx->caller->user_id), "bigint");
    strbuf_str(&sql, STR(", now() + "));
    sql_bind(&sql, &params, P_I64(lock->ttl_seconds), "bigint");
    strbuf_printf(
        &sql, " * interval '1 second' from {p}.%.*s t where t.id = ", STR_ARG(entity->table));
    sql_bind(&sql, &params, P_I64(lock->id), "bigint");
    (void)rls_put_where(ctx, entity, ACT_UPDATE, "t", &sql, &params);
    strbuf_str(&sql,
               STR(" on conflict (entity_id, record_id) do update set"
                   " token_hash = excluded.token_hash, user_id = excluded.user_id,"
                   " expires_at = excluded.expires_at where k.expires_at <= now()"
                   " returning k.expires_at"));
    return write_call(ctx, "items.lock", &sql, &params, true);
}

AWAITS static int
lock_try(struct records_ctx *ctx, const struct entity *entity, struct db_call *call, bool *ret_done)
{
    TRY(write_db(ctx, entity, write_run(ctx, ctx->db, call)));
    *ret_done = call->rows.count > 0;
    return 0;
}

AWAITS static int lock_run(struct records_ctx *ctx, const struct entity *entity, struct lock *lock)
{
    struct arena *arena = ctx->task->arena;
    struct db_call call;
    char random[TOKEN_BYTES];
    bool done = false;

    if (ctx->lock_token.len > 0) {
        lock->token = ctx->lock_token;
        call = lock_extend_call(ctx, entity, lock);
        TRY(lock_try(ctx, entity, &call, &done));
    }
    /* Try twice: another user's lock may end before write_explain() can name its holder. */
    for (int tries = 0; !done && tries < 2; tries++) {
        rand_bytes(random, sizeof(random));
        lock->token = codec_b64url(arena, (struct str){random, sizeof(random)});
        call = lock_take_call(ctx, entity, lock);
        TRY(lock_try(ctx, entity, &call, &done));
        if (!done) {
            int rc = write_explain(ctx, entity, ctx->db, lock->id, ACT_UPDATE, 0);
            TRY(write_settle_conflict(ctx, entity, rc));
        }
    }
    if (!done)
        return records_fail(
            ctx, PROBLEM_CONFLICT, "Other requests are locking the record; try again.");
    lock->expires_ms = rows_time(&call.rows, 0, 0);
    return 0;
}

int records_lock(struct records_ctx *ctx,
                 const struct entity *entity,
                 int64_t id,
                 int64_t ttl_seconds,
                 struct strbuf *out)
{
    struct lock lock = {.id = id, .ttl_seconds = ttl_seconds == 0 ? TTL_DEFAULT_S : ttl_seconds};
    struct jw w;

    if (lock.ttl_seconds < 1 || lock.ttl_seconds > TTL_MAX_S)
        return records_fail_field(ctx,
                                  PROBLEM_VALIDATION_FAILED,
                                  STR("ttl_seconds"),
                                  PROBLEM_OUT_OF_RANGE,
                                  "must be 1 to %d",
                                  TTL_MAX_S);
    TRY(lock_run(ctx, entity, &lock));
    jw_init(&w, out);
    jw_obj(&w);
    JW_STR(&w, "lock_token", lock.token);
    JW_I64(&w, "locked_by", ctx->caller->user_id);
    jw_lit(&w, "expires_at");
    jw_time(&w, lock.expires_ms);
    jw_obj_end(&w);
    return records_check_size(ctx, out);
}

/* --- unlock --- */

/* Removes a lock; administrators may remove any. `held` is false for a lock that has ended. */
static struct db_call unlock_call(struct records_ctx *ctx, const struct entity *entity, int64_t id)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql,
                  "delete from {p}.record_locks as k where k.entity_id = %lld and k.record_id = ",
                  (long long)entity->id);
    sql_bind(&sql, &params, P_I64(id), "bigint");
    if (!caller_is_admin(ctx->caller)) {
        strbuf_str(&sql, STR(" and (k.expires_at <= now() or k.token_hash = "));
        sql_bind(&sql, &params, write_token_hash(arena, ctx->lock_token), "bytea");
        strbuf_char(&sql, ')');
    }
    strbuf_printf(&sql,
                  " and exists (select 1 from {p}.%.*s t where t.id = k.record_id",
                  STR_ARG(entity->table));
    (void)rls_put_where(ctx, entity, ACT_UPDATE, "t", &sql, &params);
    strbuf_str(&sql, STR(") returning (k.expires_at > now()) as held"));
    return write_call(ctx, "items.unlock", &sql, &params, true);
}

AWAITS static int unlock_run(struct records_ctx *ctx, const struct entity *entity, int64_t id)
{
    struct db_call call = unlock_call(ctx, entity, id);

    TRY(write_db(ctx, entity, write_run(ctx, ctx->db, &call)));
    if (call.rows.count > 0 && rows_bool(&call.rows, 0, 0))
        return 0;
    int rc = write_explain(ctx, entity, ctx->db, id, ACT_UPDATE, 0);
    TRY(write_settle_conflict(ctx, entity, rc));
    return records_fail(ctx, PROBLEM_NOT_LOCKED, "The record is not locked.");
}

int records_unlock(struct records_ctx *ctx, const struct entity *entity, int64_t id)
{
    int rc = unlock_run(ctx, entity, id);

    if (rc == RECORDS_FAILED && ctx->lock_token.len > 0 && ctx->error.code == PROBLEM_LOCKED)
        return records_fail(ctx,
                            PROBLEM_LOCK_TOKEN_INVALID,
                            "The lock token is not the token of the record's lock.");
    return rc;
}
