-- Creating and changing subscriptions.

-- name: subscription_add :one
insert into {p}.subscriptions (plan_id, subscriber_id, customer_email, customer, name, description, amount_minor,
  currency, billing_interval, interval_count, trial_length_days, metadata)
values (:plan_id::bigint?, :subscriber_id::bigint?, :customer_email::text, :customer::text, :name::text,
  :description::text, :amount_minor::bigint, :currency::text, :billing_interval::text, :interval_count::integer,
  :trial_length_days::integer, :metadata::jsonb)
returning id as id:bigint

-- A call about the subscription has an unknown outcome: the timer of payments-webhook reads the subscription next.
-- name: subscription_in_doubt :exec
update {p}.subscriptions set settle_at = now() where id = :id::bigint

-- The processor's answer has the new terms: the plan does not know the quantity.
-- name: subscription_move :exec
update {p}.subscriptions s
set plan_id = p.id, name = p.name, description = p.description, updated_at = greatest(now(), s.updated_at)
from {p}.subscription_plans p
where s.id = :id::bigint and p.id = :plan_id::bigint

-- name: subscription_set :exec
update {p}.subscriptions s
set subscriber_id = case when :subscriber_set::boolean then :subscriber_id::bigint? else s.subscriber_id end,
  metadata = coalesce(:metadata::jsonb?, s.metadata), updated_at = greatest(now(), s.updated_at)
where s.id = :id::bigint

-- Offer codes of a new subscription.

-- name: subscription_priced :exec
update {p}.subscriptions set amount_minor = :amount_minor::bigint,
  trial_length_days = :trial_length_days::integer where id = :id::bigint

-- Frees the codes of an offer whose checkouts expired unpaid (incomplete_expired).
-- name: subscription_codes_free :exec
with gone as (
  delete from {p}.offer_redemptions d using {p}.subscriptions s
  where d.subscription_id = s.id and s.status = 'incomplete_expired'
    and d.offer_id = (select o.offer_id from {p}.offer_codes o where o.code = :code::text)
  returning d.code_id
)
update {p}.offer_codes c set redeemed = c.redeemed - g.times
from (select x.code_id, count(*) as times from gone x group by x.code_id) g
where c.id = g.code_id

-- Sources of a new subscription: plan, template and subscriber.

-- name: subscription_plan :opt
select p.id:bigint, p.name:text?, p.description:text?, p.amount_minor:bigint, p.currency:text, p.billing_interval:text,
  p.interval_count:integer, p.trial_period_days:integer, p.is_active:boolean
from {p}.subscription_plans p where p.id = :id::bigint

-- name: subscription_template :opt
select t.id:bigint, t.name:text?, t.description:text?, t.plan_id:bigint?, t.amount_minor:bigint?, t.currency:text?,
  t.billing_interval:text?, t.interval_count:integer?, t.trial_period_days:integer?, t.is_active:boolean
from {p}.subscription_templates t where t.id = :id::bigint

-- name: subscription_user :opt
select u.id:bigint, u.email:text from {p}.users u where u.id = :id::bigint
