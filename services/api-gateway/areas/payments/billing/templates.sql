-- Templates of subscriptions, with their own terms or those of a plan.

-- part: template
select t.id, t.name, t.description, t.plan_id, t.type, trim_scale(t.amount_minor / {decimals}) as amount,
  t.amount_minor,
       t.currency, t.billing_interval, t.interval_count, t.trial_period_days, t.is_active, t.created_at, t.updated_at
from {p}.subscription_templates t

-- Minor units in one unit of the currency (payments/money.c).
-- part: decimals
case when t.currency in ({zero_decimal}) then 1
     when t.currency in ({three_decimal}) then 1000 else 100 end::numeric

-- name: templates_list :page sort(id,name,created_at,updated_at)
{template}
where (:is_active::boolean? is null or t.is_active = :is_active::boolean?) and (:plan_id::bigint? is null
  or t.plan_id = :plan_id::bigint?)

-- name: template_get :opt
{template}
where t.id = :id::bigint

-- name: template_lock :opt
select t.name:text, t.description:text?, t.plan_id:bigint?, t.amount_minor:bigint?, t.currency:text?,
  t.billing_interval:text?, t.interval_count:integer?, t.trial_period_days:integer?, t.is_active:boolean
from {p}.subscription_templates t where t.id = :id::bigint
for update

-- `id` is 0: template_add and template_save share their arguments.
-- name: template_add :one args(template) row(saved_template)
insert into {p}.subscription_templates (name, description, plan_id, type, amount_minor, currency, billing_interval,
  interval_count, trial_period_days, is_active)
select :name::text, :description::text, :plan_id::bigint?, 'recurring', :amount_minor::bigint?, :currency::text,
  :billing_interval::text, :interval_count::integer?, :trial_period_days::integer?, :is_active::boolean
where :id::bigint = 0
returning id as id:bigint

-- name: template_save :one args(template) row(saved_template)
update {p}.subscription_templates
set name = :name::text, description = :description::text, plan_id = :plan_id::bigint?,
  amount_minor = :amount_minor::bigint?, currency = :currency::text,
  billing_interval = :billing_interval::text, interval_count = :interval_count::integer?,
  trial_period_days = :trial_period_days::integer?, is_active = :is_active::boolean,
  updated_at = greatest(now(), updated_at)
where id = :id::bigint
returning id as id:bigint

-- name: template_remove :exec
delete from {p}.subscription_templates where id = :id::bigint
