/* Audit rows. */
#include "rights/audit.h"

#include "audit_sql.h"
#include "base/panic.h"

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

/* For a key the id of the key; the key's row names its user. */
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
    int64_t actor = actor_id(caller);

    return db_call_new(
        arena,
        SQL_AUDIT_ADD(.actor_kind = str_from(actor_kind(caller)),
                      .actor_id = some_id(actor),
                      .action = str_from(action),
                      .target = str_from(target),
                      .target_id = target_id != 0
                                       ? arena_printf(arena, "%lld", (long long)target_id)
                                       : STR_NONE,
                      .detail = detail.len > 0 ? detail : STR_NONE,
                      .request_id = request_id.len > 0 ? request_id : STR_NONE));
}
