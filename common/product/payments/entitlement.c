/* Whether a user has access. */
#include "payments/entitlement.h"

#include "entitlement_sql.h"

int entitlement_get(struct task *task,
                    struct project *project,
                    const struct payment_settings *settings,
                    int64_t user_id,
                    struct entitlement *ret)
{
    struct rows found;
    int rc = db_query(task,
                      &project->db,
                      SQL_ENTITLEMENT_BEST(.user_id = user_id, .grace_days = settings->grace_days),
                      &found);

    if (rc)
        return rc;
    *ret = (struct entitlement){.status = STR("none")};
    if (!found.count)
        return 0;
    const struct sql_entitlement_best_row row = sql_entitlement_best_row(&found, 0);
    *ret = (struct entitlement){
        .has_access = row.has_access.value,
        .provider = row.provider,
        .status = row.status,
        .expires_ms = row.expires_at,
        .trial_length_days = row.trial_length_days,
        .subscription_id = row.id,
        .plan_id = row.plan_id.value,
    };
    return 0;
}
