-- Subscription plans. tenant_id is the project's number.

-- part: plan
select p.id, $1::bigint as tenant_id, p.plan_name, p.name, p.description, p.type,
       trim_scale(p.amount_minor / {decimals}) as amount, p.amount_minor, p.currency, p.billing_interval,
       p.interval_count, p.trial_period_days, p.is_active, p.store_product_id, p.processor_product_id,
       p.processor_price_id,
       coalesce(p.synced ->> 'product' = {product_state} and p.synced ->> 'price' = {price_state}, false) as synced,
       p.synced ->> 'error' as sync_error, p.created_at, p.updated_at
from {p}.subscription_plans p

-- What the processor is told, each as one text.
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
where $2::boolean is null or p.is_active = $2::boolean

-- name: plan_get :opt
{plan}
where p.id = $2::bigint

-- name: plan_lock :opt
select p.plan_name, p.name, p.description, p.amount_minor, p.currency, p.billing_interval, p.interval_count,
       p.trial_period_days, p.is_active, p.store_product_id
from {p}.subscription_plans p where p.id = $1::bigint
for update

-- name: plan_add :one
insert into {p}.subscription_plans (plan_name, name, description, type, amount_minor, currency, billing_interval,
  interval_count, trial_period_days, is_active, store_product_id)
values ($1::text, $2::text, $3::text, 'recurring', $4::bigint, $5::text, $6::text, $7::integer, $8::integer,
  $9::boolean, $10::text)
returning id

-- name: plan_save :exec
update {p}.subscription_plans
set plan_name = $2::text, name = $3::text, description = $4::text, amount_minor = $5::bigint, currency = $6::text,
  billing_interval = $7::text, interval_count = $8::integer, trial_period_days = $9::integer, is_active = $10::boolean,
  store_product_id = $11::text, updated_at = greatest(now(), updated_at)
where id = $1::bigint

-- Removing: subscriptions that go on hold it.

-- name: plan_used :one
select count(*) as subscriptions from {p}.subscriptions s
where s.plan_id = $1::bigint and s.status not in ('canceled', 'incomplete_expired')

-- name: plan_remove :exec
delete from {p}.subscription_plans where id = $1::bigint
