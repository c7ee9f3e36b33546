/* Checks whether the clients of streams may still read them. */
#include "areas/assistant/ai_subscriber.h"

#include "base/clock.h"
#include "realtime_sql.h"

#define CHECK_MS         60000 /* also when the epoch is the same */
#define CHECK_FAILING_MS 5000  /* time in which checks may fail */

void ai_subscriber_init(struct ai_subscriber *hearer, const struct req *r, enum perm perm)
{
    const struct caller *caller = r->scope->caller;

    *hearer = (struct ai_subscriber){
        .project = r->scope->project->number,
        .user_id = caller->user_id,
        .session_id = caller->session_id,
        .key_id = caller->key_id,
        .expires_ms = caller->ends_ms,
        .perm = perm,
        .epoch = -1,
        .checked_ms = clock_mono_ms(),
    };
}

bool ai_subscriber_is_due(const struct ai_subscriber *hearer)
{
    return directory_epoch(gateway_directory(), hearer->project) != hearer->epoch ||
           clock_mono_ms() - hearer->checked_ms >= CHECK_MS ||
           clock_wall_ms() >= hearer->expires_ms;
}

/* co: Sets *ret_code to NULL when the client may read, else to the reason. Returns 0, or the error
 * that made the check fail. */
AWAITS static int
subscriber_read_rights(struct task *task, struct ai_subscriber *hearer, const char **ret_code)
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
    if (rc == RIGHTS_NOT_FOUND || (rc == 0 && !rights->active))
        return 0;
    TRY(rc);
    const struct caller now = {.kind = hearer->key_id ? CALLER_KEY : CALLER_USER, .rights = rights};
    *ret_code = caller_can(&now, hearer->perm) ? NULL : "forbidden";
    hearer->epoch = epoch;
    return 0;
}

const char *ai_subscriber_check(struct task *task, struct ai_subscriber *hearer)
{
    int64_t now_ms = clock_mono_ms();
    const char *code = NULL;

    if (clock_wall_ms() >= hearer->expires_ms)
        return "token_expired";
    if (!ai_subscriber_is_due(hearer))
        return NULL;
    if (hearer->failing_since_ms == 0)
        hearer->failing_since_ms = now_ms;
    if (subscriber_read_rights(task, hearer, &code) == 0) {
        hearer->checked_ms = now_ms;
        hearer->failing_since_ms = 0;
        return code;
    }
    return now_ms - hearer->failing_since_ms >= CHECK_FAILING_MS ? "dependency_unavailable" : NULL;
}
