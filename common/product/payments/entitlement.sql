-- The best subscription of a user, among the user's own and shared subscriptions.

-- store_status has what the store reported. A failed payment gives days of grace from the moment it was reported, or
-- until the store's own date. A subscription that the processor reports as active is active until the processor reports
-- otherwise. A subscription of the store ends at its date, because an event may not arrive then.
-- name: entitlement_best :opt
with mine as (
  select s.id from {p}.subscriptions s where s.subscriber_id = :user_id::bigint
  union
  select u.subscription_id from {p}.subscription_users u where u.user_id = :user_id::bigint
), known as (
  select s.id, s.plan_id, s.provider, s.trial_length_days, s.trial_end, s.current_period_end, s.app_status,
    case when s.provider = 'iap_store' then s.grace_end
         else coalesce(s.grace_end, s.failed_at + :grace_days::bigint * interval '1 day') end as grace_until
  from (
    select s.id, s.plan_id, s.provider, s.trial_length_days, s.trial_end, s.current_period_end, s.grace_end,
      case when s.provider = 'iap_store' then coalesce(s.store_status, s.status) else s.status end as app_status,
      coalesce((select max(h.at) from {p}.subscription_history h
                where h.subscription_id = s.id and h.to_status = s.status
                and h.from_status is distinct from h.to_status),
               s.event_at, s.updated_at) as failed_at
    from {p}.subscriptions s
    where s.id in (select m.id from mine m)
  ) s
), judged as (
  select k.id, k.plan_id, k.provider, k.app_status, k.trial_length_days,
    case when k.app_status = 'trialing' then coalesce(k.trial_end, k.current_period_end)
         when k.app_status in ('in_grace', 'past_due') then coalesce(k.grace_until, k.current_period_end)
         else k.current_period_end end as ends,
    k.app_status in ('trialing', 'active', 'in_grace', 'past_due') as may
  from known k
)
select j.id:bigint, j.plan_id:bigint?,
  case when j.provider = 'iap_store' then j.provider else 'processor_web' end as provider:text,
  j.app_status as status:text, j.ends as expires_at:timestamptz?, j.trial_length_days:integer,
  j.may and (j.ends is null or now() < j.ends or (j.provider = 'processor' and j.app_status in ('trialing', 'active')))
    as has_access:boolean?
from judged j
order by has_access desc, j.ends desc nulls first, j.id desc
limit 1
