/* Row rule, field rule, and the texts and parameters of dynamic statements. */
#include "records/rls.h"

#include <string.h>

#include "base/panic.h"
#include "base/rand.h"

/* --- parameters and texts --- */

void sql_params_init(struct sql_params *params, struct arena *arena)
{
    *params = (struct sql_params){.arena = arena};
}

unsigned sql_params_add(struct sql_params *params, struct db_param param)
{
    ARENA_PUSH(params->arena, params->items, params->count, params->cap, param);
    return (unsigned)params->count;
}

void sql_bind(struct strbuf *sql,
              struct sql_params *params,
              struct db_param param,
              const char *type)
{
    strbuf_char(sql, '$');
    strbuf_i64(sql, sql_params_add(params, param));
    strbuf_str(sql, STR("::"));
    strbuf_cstr(sql, type);
}

/* Callers choose much of a text, and statements are found by hash alone: a keyed hash that nobody
 * outside can aim at (multiply and fold, eight bytes a step). */
static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t text_hash(struct str text, uint64_t extra)
{
    static uint64_t keys[2];
    if (keys[0] == 0) {
        rand_bytes(keys, sizeof(keys));
        keys[0] |= 1;
        keys[1] |= 1;
    }
    uint64_t hash = fold(extra ^ keys[0], text.len ^ keys[1]);
    for (; text.len > 0;) {
        uint64_t word = 0;
        size_t take = text.len < sizeof(word) ? text.len : sizeof(word);
        memcpy(&word, text.ptr, take);
        hash = fold(hash ^ word ^ keys[0], keys[1] ^ (hash >> 32)) + word;
        text.ptr += take;
        text.len -= take;
    }
    return fold(hash ^ keys[1], keys[0]);
}

struct sql *sql_dynamic(struct records_ctx *ctx,
                        const char *name,
                        struct strbuf *text,
                        size_t arity,
                        enum sql_kind kind)
{
    struct sql *sql = ARENA_NEW(text->arena, sql);

    MUST(!text->overflow);
    sql->name = name;
    sql->hash = text_hash(strbuf_view(text), (uint64_t)ctx->model->version);
    sql->text = strbuf_cstring(text);
    sql->arity = (unsigned)arity;
    sql->kind = kind;
    return sql;
}

/* --- field rule --- */

bool rls_entity(const struct records_ctx *ctx, const struct entity *entity)
{
    if (ctx->public_only)
        return entity->public_read;
    return caller_can_entity(ctx->caller, entity->id, ACT_READ);
}

bool rls_field(const struct records_ctx *ctx,
               const struct model_field *field,
               enum perm_action action)
{
    if (ctx->public_only)
        return action == ACT_READ && field->is_public && field->entity->public_read;
    return caller_field(ctx->caller, field, action);
}

const struct model_field *
rls_find(const struct records_ctx *ctx, const struct entity *entity, struct str name)
{
    const struct model_field *field = entity_field(entity, name);

    return field != NULL && rls_field(ctx, field, ACT_READ) ? field : NULL;
}

/* --- row rule --- */

bool rls_applies(const struct records_ctx *ctx, const struct entity *entity)
{
    if (ctx->public_only)
        return !entity->public_read;
    return entity->row_level_security && !caller_all_rows(ctx->caller);
}

static const char *grant_condition(enum perm_action action)
{
    switch (action) {
    case ACT_READ:
        return "";
    case ACT_UPDATE:
        return " and g.can_update";
    case ACT_DELETE:
        return " and g.can_delete";
    case ACT_CREATE:
    case ACT_TRIGGER:
        break;
    }
    PANIC("no row rule for action %d", (int)action);
}

/* What a row rule binds of its caller: once per statement, however many rules it carries. */
enum caller_part { CALLER_ID, CALLER_GROUPS, CALLER_ROLES, CALLER_SCOPE };

static struct db_param caller_value(const struct caller *caller, enum caller_part part)
{
    const struct rights *rights = caller->rights;

    switch (part) {
    case CALLER_ID:
        return P_I64(caller->user_id);
    case CALLER_SCOPE:
        return P_I64(caller->group_scope);
    case CALLER_GROUPS:
        return rights ? P_I64S(rights->group_ids, rights->group_count) : P_I64S(NULL, 0);
    case CALLER_ROLES:
        return rights ? P_I64S(rights->role_ids, rights->role_count) : P_I64S(NULL, 0);
    }
    PANIC("no such part of a caller: %d", (int)part);
}

static unsigned
caller_param(struct sql_params *params, const struct caller *caller, enum caller_part part)
{
    if (params->caller[part] == 0)
        params->caller[part] = sql_params_add(params, caller_value(caller, part));
    return params->caller[part];
}

/* Rows that were granted, or that members of the asked group own. The parts of the caller are bound
 * in the order that rls_bind() repeats. */
static void grants_where(const struct records_ctx *ctx,
                         const struct entity *entity,
                         enum perm_action action,
                         const char *alias,
                         struct strbuf *sql,
                         struct sql_params *params)
{
    const struct caller *caller = ctx->caller;
    unsigned user = caller_param(params, caller, CALLER_ID);
    unsigned groups = caller_param(params, caller, CALLER_GROUPS);
    unsigned roles = caller_param(params, caller, CALLER_ROLES);

    strbuf_printf(sql,
                  " or exists (select 1 from {p}.record_grants g"
                  " where g.entity_id = %lld and g.record_id = %s.id"
                  " and (g.kind = 1 and g.grantee_id = $%u::bigint"
                  " or g.kind = 2 and g.grantee_id = any($%u::bigint[])"
                  " or g.kind = 3 and g.grantee_id = any($%u::bigint[]))%s)",
                  (long long)entity->id,
                  alias,
                  user,
                  groups,
                  roles,
                  grant_condition(action));
    if (action == ACT_READ && caller->group_scope != 0)
        strbuf_printf(sql,
                      " or %s.created_by in (select m.user_id from {p}.group_members m"
                      " where m.group_id = $%u::bigint)",
                      alias,
                      caller_param(params, caller, CALLER_SCOPE));
}

bool rls_where(const struct records_ctx *ctx,
               const struct entity *entity,
               enum perm_action action,
               const char *alias,
               struct strbuf *sql,
               struct sql_params *params)
{
    if (!rls_applies(ctx, entity))
        return false;
    if (ctx->public_only) {
        strbuf_str(sql, STR(" and (false)"));
        return true;
    }

    const struct caller *caller = ctx->caller;
    unsigned user = caller_param(params, caller, CALLER_ID);
    strbuf_printf(sql, " and (%s.created_by = $%u::bigint", alias, user);
    if (entity->granted || caller->group_scope != 0)
        grants_where(ctx, entity, action, alias, sql, params);
    strbuf_char(sql, ')');
    return true;
}

void rls_bind(const struct records_ctx *ctx, struct sql_params *params, size_t count)
{
    for (size_t part = CALLER_ID; part < CALLER_ID + count; part++)
        (void)caller_param(params, ctx->caller, (enum caller_part)part);
}
