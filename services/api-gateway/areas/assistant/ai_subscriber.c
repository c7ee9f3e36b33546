/* Checks whether the clients of streams may still read them. */
#include "areas/assistant/ai_subscriber.h"

#include "base/clock.h"
#include "realtime_sql.h"

#define CHECK_MS         60000 /* also when the epoch is the same */
#define CHECK_FAILING_MS 5000  /* time in which checks may fail */

void ai_subscriber_init(struct ai_subscriber *subscriber, const struct req *r, enum perm perm)
{
    const struct caller *caller = r->scope->caller;

    *subscriber = (struct ai_subscriber){
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

bool ai_subscriber_is_due(const struct ai_subscriber *subscriber)
{
    return directory_epoch(gateway_directory(), subscriber->project) != subscriber->epoch ||
           clock_mono_ms() - subscriber->checked_ms >= CHECK_MS ||
           clock_wall_ms() >= subscriber->expires_ms;
}

/* co: Sets *ret_code to NULL when the client may read, else to the reason. Returns 0, or the error
 * that made the check fail. */
AWAITS static int
subscriber_read_rights(struct task *task, struct ai_subscriber *subscriber, const char **ret_code)
{
    const struct rights *rights = NULL;
    struct project *project;
    struct rows sessions;

    int rc = project_find_number(task, gateway_directory(), subscriber->project, &project);
    if (rc == PROJECT_NOT_FOUND) {
        *ret_code = "not_found";
        return 0;
    }
    TRY(rc);
    int64_t epoch = project->epoch;
    *ret_code = "unauthorized";
    if (subscriber->key_id == 0) {
        TRY(db_query(task,
                     &project->db,
                     SQL_REALTIME_SESSIONS(.ids = sql_i64s(&subscriber->session_id, 1)),
                     &sessions));
        if (sessions.count == 0)
            return 0;
    }
    rc = project_rights(task, project, subscriber->user_id, subscriber->key_id, &rights);
    if (rc == RIGHTS_NOT_FOUND || (rc == 0 && !rights->active))
        return 0;
    TRY(rc);
    const struct caller now = {.kind = subscriber->key_id ? CALLER_KEY : CALLER_USER,
                               .rights = rights};
    *ret_code = caller_can(&now, subscriber->perm) ? NULL : "forbidden";
    subscriber->epoch = epoch;
    return 0;
}

const char *ai_subscriber_check(struct task *task, struct ai_subscriber *subscriber)
{
    int64_t now_ms = clock_mono_ms();
    const char *code = NULL;

    if (clock_wall_ms() >= subscriber->expires_ms)
        return "token_expired";
    if (!ai_subscriber_is_due(subscriber))
        return NULL;
    if (subscriber->failing_since_ms == 0)
        subscriber->failing_since_ms = now_ms;
    if (subscriber_read_rights(task, subscriber, &code) == 0) {
        subscriber->checked_ms = now_ms;
        subscriber->failing_since_ms = 0;
        return code;
    }
    return now_ms - subscriber->failing_since_ms >= CHECK_FAILING_MS ? "dependency_unavailable"
                                                                     : NULL;
}
