/* Audit rows. */
#include "rights/audit.h"

#include "audit_sql.h"
#include "base/panic.h"

#define AUDIT_PARAMS 7

static const char *actor_kind(const struct caller *caller)
{
    switch (caller->kind) {
    case CALLER_USER:
        return "user";
    case CALLER_KEY:
        return "api_key";
    case CALLER_OPERATOR:
        return "operator";
    case CALLER_SYSTEM:
        return "system";
    case CALLER_NONE:
        return "anonymous";
    }
    PANIC("unknown caller kind %d", (int)caller->kind);
}

/* For a key its own id: the user behind it is in the key's row. */
static int64_t actor_id(const struct caller *caller)
{
    return caller->kind == CALLER_KEY ? caller->key_id : caller->user_id;
}

struct db_call audit_call(struct arena *arena,
                          const struct caller *caller,
                          const char *action,
                          const char *target,
                          int64_t target_id,
                          struct str detail,
                          struct str request_id)
{
    struct db_param *params = ARENA_ARRAY(arena, params, AUDIT_PARAMS);
    int64_t actor = actor_id(caller);

    params[0] = P_CSTR(actor_kind(caller));
    params[1] = actor != 0 ? P_I64(actor) : P_NULL;
    params[2] = P_CSTR(action);
    params[3] = P_CSTR(target);
    params[4] = target_id != 0 ? P_STR(arena_printf(arena, "%lld", (long long)target_id)) : P_NULL;
    params[5] = detail.len > 0 ? P_STR(detail) : P_NULL;
    params[6] = request_id.len > 0 ? P_STR(request_id) : P_NULL;
    return (struct db_call){.sql = &SQL_AUDIT_ADD, .params = params, .param_count = AUDIT_PARAMS};
}
