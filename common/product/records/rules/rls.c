/* The row rule: which rows a caller may read, change or delete. */
#include "records/rules/rls.h"
#include "records/rules/statement.h"

#include "base/panic.h"

bool rls_applies(const struct records_ctx *ctx, const struct entity *entity)
{
    if (ctx->public_only)
        return !entity->public_read;
    return entity->row_level_security && !caller_has_all_rows(ctx->caller);
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

/* Values of the caller that row rules bind. A statement binds each value once, however many rules
 * it contains. */
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

/* Rows that were granted, or that belong to members of the group of X-Group-Id. The caller's values
 * are bound in the order of enum caller_part, which rls_bind() repeats. */
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

bool rls_put_where(const struct records_ctx *ctx,
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
    if (entity->has_grants || caller->group_scope != 0)
        grants_where(ctx, entity, action, alias, sql, params);
    strbuf_char(sql, ')');
    return true;
}

void rls_bind(const struct records_ctx *ctx, struct sql_params *params, size_t count)
{
    for (size_t part = CALLER_ID; part < CALLER_ID + count; part++)
        (void)caller_param(params, ctx->caller, (enum caller_part)part);
}
