-- What POST /subscriptions may start from: terms of its own, or those of a plan.

-- part: template
select t.id, t.name, t.description, t.plan_id, t.type, trim_scale(t.amount_minor / {decimals}) as amount, t.amount_minor,
       t.currency, t.billing_interval, t.interval_count, t.trial_period_days, t.is_active, t.created_at, t.updated_at
from {p}.subscription_templates t

-- Minor units in one unit of the currency (payments/money.c).
-- part: decimals
case when t.currency in ({zero_decimal}) then 1
     when t.currency in ({three_decimal}) then 1000 else 100 end::numeric

-- name: templates_list :page sort(id,name,created_at,updated_at)
{template}
where ($1::boolean is null or t.is_active = $1::boolean) and ($2::bigint is null or t.plan_id = $2::bigint)

-- name: template_get :opt
{template}
where t.id = $1::bigint

-- name: template_lock :opt
select t.name, t.description, t.plan_id, t.amount_minor, t.currency, t.billing_interval, t.interval_count,
       t.trial_period_days, t.is_active
from {p}.subscription_templates t where t.id = $1::bigint
for update

-- name: template_add :one
insert into {p}.subscription_templates (name, description, plan_id, type, amount_minor, currency, billing_interval,
  interval_count, trial_period_days, is_active)
values ($1::text, $2::text, $3::bigint, 'recurring', $4::bigint, $5::text, $6::text, $7::integer, $8::integer,
  $9::boolean)
returning id

-- name: template_save :exec
update {p}.subscription_templates
set name = $2::text, description = $3::text, plan_id = $4::bigint, amount_minor = $5::bigint, currency = $6::text,
  billing_interval = $7::text, interval_count = $8::integer, trial_period_days = $9::integer, is_active = $10::boolean,
  updated_at = greatest(now(), updated_at)
where id = $1::bigint

-- name: template_remove :exec
delete from {p}.subscription_templates where id = $1::bigint
