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
                      &SQL_ENTITLEMENT_BEST,
                      PARAMS(P_I64(user_id), P_I64(settings->grace_days)),
                      &found);

    if (rc)
        return rc;
    *ret = (struct entitlement){.status = STR("none")};
    if (!found.count)
        return 0;
    const struct row row = rows_at(&found, 0);
    *ret = (struct entitlement){
        .has_access = row_bool(&row, "has_access"),
        .provider = row_str(&row, "provider"),
        .status = row_str(&row, "status"),
        .expires_ms = row_time(&row, "expires_at"),
        .trial_length_days = row_i64(&row, "trial_length_days"),
        .subscription_id = row_i64(&row, "id"),
        .plan_id = row_i64(&row, "plan_id"),
    };
    return 0;
}
