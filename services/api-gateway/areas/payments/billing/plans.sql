-- Subscription plans. tenant_id is the project's number.

-- part: plan
select p.id, :tenant_id::bigint as tenant_id, p.plan_name, p.name, p.description, p.type,
       trim_scale(p.amount_minor / {decimals}) as amount, p.amount_minor, p.currency, p.billing_interval,
       p.interval_count, p.trial_period_days, p.is_active, p.store_product_id, p.processor_product_id,
       p.processor_price_id,
       coalesce(p.synced ->> 'product' = {product_state} and p.synced ->> 'price' = {price_state}, false) as synced,
       p.synced ->> 'error' as sync_error, p.created_at, p.updated_at
from {p}.subscription_plans p

-- The states of product and price that are sent to the processor, each as one text.
-- part: product_state
jsonb_build_array(p.name, p.description, p.is_active)::text

-- part: price_state
jsonb_build_array(p.amount_minor, p.currency, p.billing_interval, p.interval_count)::text

-- Minor units in one unit of the currency (payments/money.c).
-- part: decimals
case when p.currency in ({zero_decimal}) then 1
     when p.currency in ({three_decimal}) then 1000 else 100 end::numeric

-- name: plans_list :page sort(id,plan_name,name,amount_minor,created_at,updated_at)
{plan}
where :is_active::boolean? is null or p.is_active = :is_active::boolean?

-- name: plan_get :opt
{plan}
where p.id = :id::bigint

-- name: plan_lock :opt
select p.plan_name:text?, p.name:text?, p.description:text?, p.amount_minor:bigint, p.currency:text,
  p.billing_interval:text, p.interval_count:integer, p.trial_period_days:integer, p.is_active:boolean,
  p.store_product_id:text?
from {p}.subscription_plans p where p.id = :id::bigint
for update

-- `id` is 0: plan_add and plan_save share their arguments.
-- name: plan_add :one args(plan) row(saved_plan)
insert into {p}.subscription_plans (plan_name, name, description, type, amount_minor, currency, billing_interval,
  interval_count, trial_period_days, is_active, store_product_id)
select :plan_name::text, :name::text, :description::text, 'recurring', :amount_minor::bigint, :currency::text,
  :billing_interval::text, :interval_count::integer, :trial_period_days::integer, :is_active::boolean,
  :store_product_id::text
where :id::bigint = 0
returning id as id:bigint

-- name: plan_save :one args(plan) row(saved_plan)
update {p}.subscription_plans
set plan_name = :plan_name::text, name = :name::text, description = :description::text,
  amount_minor = :amount_minor::bigint, currency = :currency::text,
  billing_interval = :billing_interval::text, interval_count = :interval_count::integer,
  trial_period_days = :trial_period_days::integer, is_active = :is_active::boolean,
  store_product_id = :store_product_id::text, updated_at = greatest(now(), updated_at)
where id = :id::bigint
returning id as id:bigint

-- Deleting: a plan is in use while a subscription to it has not ended.

-- name: plan_used :one
select count(*) as subscriptions:bigint from {p}.subscriptions s
where s.plan_id = :plan_id::bigint and s.status not in ('canceled', 'incomplete_expired')

-- name: plan_remove :exec
delete from {p}.subscription_plans where id = :id::bigint
