#pragma once
/* Whether a user has access, over all of their subscriptions, processor's and store's. */
#include "payments/payment_settings.h"
#include "project/project.h"

struct entitlement {
    bool has_access;
    struct str provider; /* "processor_web", "iap_store"; STR_NONE = never had one */
    struct str status;   /* trialing, active, in_grace, past_due, ...; "none" */
    int64_t expires_ms;  /* 0 = unknown */
    int64_t trial_length_days;
    int64_t subscription_id, plan_id;
};
/* co: the best of the user's subscriptions, their own and those they are a user of: those with
 * access first, then the one that ends last. By the database's clock. trialing, active and the days
 * of grace after a failed payment give access (settings->grace_days, the store's own date for the
 * store's); a store's subscription also has to be before its end. 0, a DB_*, or a negative. */
AWAITS int entitlement_get(struct task *task,
                           struct project *project,
                           const struct payment_settings *settings,
                           int64_t user_id,
                           struct entitlement *ret) MUSTCHECK;
