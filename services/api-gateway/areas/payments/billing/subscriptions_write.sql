-- A new subscription, what it is made of, and what changes one.

-- name: subscription_add :one
insert into {p}.subscriptions (plan_id, subscriber_id, customer_email, customer, name, description, amount_minor,
  currency, billing_interval, interval_count, trial_length_days, metadata)
values ($1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::text, $7::bigint, $8::text, $9::text, $10::integer,
  $11::integer, $12::jsonb)
returning id

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

-- Those of an offer whose checkouts nobody paid may be used again.
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
