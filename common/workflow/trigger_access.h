#pragma once
/*
 * What of an event somebody may see: a workflow is given no more of its trigger's data than its last editor may read,
 * and its history shows no more. Row rules are not looked at here.
 *
 *   EntityCreated, EntityUpdated, EntityDeleted    {entity}:read and API access
 *   PaymentCreated, PaymentSucceeded, PaymentFailed    svc_payments:read
 *   SubscriptionCreated, SubscriptionActivated, SubscriptionExpired    svc_subscriptions:read
 *   PaymentMethodCaptured, PaymentMethodCaptureFailed, PaymentMethodRemoved    svc_payment_methods:read
 *   PushActionTaken    svc_tenant_push_categories:update
 *
 * Administrators may see all of it.
 */
#include <jansson.h>

#include "domain/rights.h"
#include "workflow/condition.h"

/* any: whether the caller may be told of such an event at all. `entity` is that of an entity event; NULL when it is
 * gone: then nobody but administrators may. An event of no known name is for administrators, too. */
bool trigger_allowed(const struct caller *caller, struct str event, const struct entity *entity);
/* any: takes members that the caller may not read out of a record (changes `data`); members that are no fields of the
 * entity (any more) are not told, either. */
void trigger_trim(const struct caller *caller, const struct entity *entity, json_t *data);
/* any: whether a trigger's filter over a record (NULL = none) asks only for what the caller may read: that it held
 * tells of the record, too. */
bool trigger_filter_allowed(const struct caller *caller, const struct entity *entity,
                            const struct condition *filter);
