/* Checks whether the clients of streams may still read them. */
#include "areas/assistant/ai_hearer.h"

#include "base/clock.h"
#include "realtime_sql.h"

#define LOOK_MS    60000 /* also when the epoch is the same */
#define UNKNOWN_MS 5000  /* time in which checks may fail */

void ai_hearer_init(struct ai_hearer *hearer, const struct req *r, enum perm perm)
{
    const struct caller *caller = r->scope->caller;

    *hearer = (struct ai_hearer){
        .project = r->scope->project->number,
        .user_id = caller->user_id,
        .session_id = caller->session_id,
        .key_id = caller->key_id,
        .ends_ms = caller->ends_ms,
        .perm = perm,
        .epoch = -1,
        .looked_ms = clock_mono_ms(),
    };
}

bool ai_hearer_due(const struct ai_hearer *hearer)
{
    return directory_epoch(gateway_directory(), hearer->project) != hearer->epoch ||
           clock_mono_ms() - hearer->looked_ms >= LOOK_MS || clock_wall_ms() >= hearer->ends_ms;
}

/* co: Sets *ret_code to NULL when the client may read, else to the reason. Returns 0, or the error
 * that made the check fail. */
AWAITS static int hearer_look(struct task *task, struct ai_hearer *hearer, const char **ret_code)
{
    const struct rights *rights = NULL;
    struct project *project;
    struct rows sessions;

    int rc = project_find_number(task, gateway_directory(), hearer->project, &project);
    if (rc == PROJECT_NOT_FOUND) {
        *ret_code = "not_found";
        return 0;
    }
    TRY(rc);
    int64_t epoch = project->epoch;
    *ret_code = "unauthorized";
    if (hearer->key_id == 0) {
        TRY(db_query(task,
                     &project->db,
                     SQL_REALTIME_SESSIONS(.ids = sql_i64s(&hearer->session_id, 1)),
                     &sessions));
        if (sessions.count == 0)
            return 0;
    }
    rc = project_rights(task, project, hearer->user_id, hearer->key_id, &rights);
    if (rc == RIGHTS_GONE || (rc == 0 && !rights->active))
        return 0;
    TRY(rc);
    const struct caller now = {.kind = hearer->key_id ? CALLER_KEY : CALLER_USER, .rights = rights};
    *ret_code = caller_can(&now, hearer->perm) ? NULL : "forbidden";
    hearer->epoch = epoch;
    return 0;
}

const char *ai_hearer_refused(struct task *task, struct ai_hearer *hearer)
{
    int64_t now_ms = clock_mono_ms();
    const char *code = NULL;

    if (clock_wall_ms() >= hearer->ends_ms)
        return "token_expired";
    if (!ai_hearer_due(hearer))
        return NULL;
    if (hearer->due_ms == 0)
        hearer->due_ms = now_ms;
    if (hearer_look(task, hearer, &code) == 0) {
        hearer->looked_ms = now_ms;
        hearer->due_ms = 0;
        return code;
    }
    return now_ms - hearer->due_ms >= UNKNOWN_MS ? "dependency_unavailable" : NULL;
}
