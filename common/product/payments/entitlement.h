#pragma once
/* Whether a user has access, by all of the user's subscriptions, the processor's and the
 * store's. */
#include "payments/payment_settings.h"
#include "project/project.h"

struct entitlement {
    bool has_access;
    struct str
        provider; /* "processor_web", "iap_store"; STR_NONE = the user never had a subscription */
    struct str status;  /* trialing, active, in_grace, past_due, ...; "none" */
    int64_t expires_ms; /* 0 = unknown */
    int64_t trial_length_days;
    int64_t subscription_id, plan_id;
};
/* co: Returns the best subscription of a user, among those that the user pays for or shares:
 * subscriptions with access first, then the one that ends last, by the database's clock. Access is
 * given by trialing, active and the days of grace after a failed payment (settings->grace_days; for
 * the store's subscriptions the store's own date). A subscription of the store also must not have
 * ended. 0, a DB_*, or a negative. */
AWAITS int entitlement_get(struct task *task,
                           struct project *project,
                           const struct payment_settings *settings,
                           int64_t user_id,
                           struct entitlement *ret) MUSTCHECK;
