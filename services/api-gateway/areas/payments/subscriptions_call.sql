-- The call that creates a subscription, written down before it is made; and those that change one.

-- name: subscription_add :one
insert into {p}.subscriptions (plan_id, subscriber_id, customer_email, customer, name, description, amount_minor,
  currency, billing_interval, interval_count, trial_length_days, metadata)
values ($1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::text, $7::bigint, $8::text, $9::text, $10::integer,
  $11::integer, $12::jsonb)
returning id

-- Milliseconds until the timer may begin to settle it.
-- name: subscription_call_note :exec
update {p}.subscriptions
set call_key = $2::text, call_path = $3::text, call_form = $4::text,
  settle_at = now() + $5::bigint * interval '1 millisecond'
where id = $1::bigint

-- Answered: a checkout that is open is read again when it has ended, should nobody have told of it.
-- name: subscription_call_close :exec
update {p}.subscriptions s
set call_key = null, call_path = null, call_form = null, session_id = coalesce(s.session_id, $3::text),
  settle_at = case when s.status <> 'incomplete' then s.settle_at
    else now() + greatest($4::bigint, 30000) * interval '1 millisecond' end
where s.id = $1::bigint and (s.call_key is null or s.call_key = $2::text)

-- Refused for good.
-- name: subscription_refused :exec
update {p}.subscriptions s
set status = 'incomplete_expired', ended_at = now(), updated_at = greatest(now(), s.updated_at), call_key = null, call_path = null,
  call_form = null, settle_at = null,
  metadata = s.metadata || jsonb_build_object('failure_code', $3::text, 'failure_message', $4::text)
where s.id = $1::bigint and s.call_key = $2::text and s.provider_subscription_id is null and s.session_id is null
  and s.status = 'incomplete'

-- name: subscription_refused_history :exec
insert into {p}.subscription_history (subscription_id, at, from_status, to_status, detail)
values ($1::bigint, now(), 'incomplete', 'incomplete_expired', jsonb_build_object('failure_code', $2::text))

-- Certainly not done: as if nothing had been asked for.
-- name: subscription_not_begun :exec
delete from {p}.subscriptions s
where s.id = $1::bigint and s.call_key = $2::text and s.provider_subscription_id is null and s.session_id is null

-- A call about it whose end is not known: the timer reads it.
-- name: subscription_in_doubt :exec
update {p}.subscriptions set settle_at = now() where id = $1::bigint

-- name: subscription_move :exec
update {p}.subscriptions s
set plan_id = p.id, name = p.name, description = p.description, amount_minor = p.amount_minor, currency = p.currency,
  billing_interval = p.billing_interval, interval_count = p.interval_count, updated_at = greatest(now(), s.updated_at)
from {p}.subscription_plans p
where s.id = $1::bigint and p.id = $2::bigint

-- name: subscription_set :exec
update {p}.subscriptions s
set subscriber_id = case when $2::boolean then $3::bigint else s.subscriber_id end,
  metadata = coalesce($4::jsonb, s.metadata), updated_at = greatest(now(), s.updated_at)
where s.id = $1::bigint

-- Codes that it was to be cheaper by.

-- name: subscription_priced :exec
update {p}.subscriptions set amount_minor = $2::bigint, trial_length_days = $3::integer where id = $1::bigint

-- A code that a subscription was refused with may be used again ...
-- name: subscription_code_free :exec
with gone as (
  delete from {p}.offer_redemptions d where d.subscription_id = $1::bigint returning d.code_id
)
update {p}.offer_codes c set redeemed = c.redeemed - 1 from gone g where c.id = g.code_id

-- ... and so may those of an offer whose checkouts nobody paid.
-- name: subscription_codes_free :exec
with gone as (
  delete from {p}.offer_redemptions d using {p}.subscriptions s
  where d.subscription_id = s.id and s.status = 'incomplete_expired'
    and d.offer_id = (select o.offer_id from {p}.offer_codes o where o.code = $1::text)
  returning d.code_id
)
update {p}.offer_codes c set redeemed = c.redeemed - g.times
from (select x.code_id, count(*) as times from gone x group by x.code_id) g
where c.id = g.code_id

-- What a new one is made of.

-- name: subscription_plan :opt
select p.id, p.name, p.description, p.amount_minor, p.currency, p.billing_interval, p.interval_count,
  p.trial_period_days, p.is_active
from {p}.subscription_plans p where p.id = $1::bigint

-- name: subscription_template :opt
select t.id, t.name, t.description, t.plan_id, t.amount_minor, t.currency, t.billing_interval, t.interval_count,
  t.trial_period_days, t.is_active
from {p}.subscription_templates t where t.id = $1::bigint

-- name: subscription_user :opt
select u.id, u.email from {p}.users u where u.id = $1::bigint
