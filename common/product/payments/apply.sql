-- What applying the processor's objects reads and writes. Rows are read under their locks and written whole.

-- part: payment
select p.id as id, p.type as type, p.provider as provider, p.amount_minor as amount_minor, p.currency as currency,
  p.status as status, p.description as description, p.reference as reference, p.intent_id as intent_id,
  p.session_id as session_id, p.charge_id as charge_id, p.invoice_payment_id as invoice_payment_id,
  p.customer as customer, p.customer_email as customer_email, p.subscriber_id as subscriber_id,
  p.payment_method_id as payment_method_id, p.subscription_id as subscription_id, p.failure_code as failure_code,
  p.failure_message as failure_message, p.amount_refunded_minor as amount_refunded_minor,
  p.platform_fee_minor as platform_fee_minor, p.disputes::text as disputes, p.paid_at as paid_at,
  p.metadata::text as metadata, p.event_at as event_at, p.event_id as event_id, p.settle_at as settle_at,
  p.call_key is not null as calling, p.told as told, p.created_at as created_at
from {p}.payments p

-- part: subscription
select s.id as id, s.plan_id as plan_id, s.subscriber_id as subscriber_id, s.customer_email as customer_email,
  s.customer as customer, s.provider as provider, s.provider_subscription_id as provider_subscription_id,
  s.session_id as session_id, s.name as name, s.description as description, s.amount_minor as amount_minor,
  s.currency as currency, s.billing_interval as billing_interval, s.interval_count as interval_count,
  s.trial_length_days as trial_length_days, s.status as status, s.current_period_start as current_period_start,
  s.current_period_end as current_period_end, s.trial_end as trial_end,
  s.cancel_at_period_end as cancel_at_period_end, s.canceled_at as canceled_at, s.ended_at as ended_at,
  s.event_at as event_at, s.event_rank as event_rank, s.event_id as event_id, s.settle_at as settle_at,
  s.call_key is not null as calling, s.told as told, s.metadata::text as metadata, s.created_at as created_at,
  s.updated_at as updated_at
from {p}.subscriptions s

-- part: method
select m.id as id, m.provider_id as provider_id, m.setup_id as setup_id, m.customer as customer,
  m.subscriber_id as subscriber_id, m.subscriber_email as subscriber_email, m.type as type, m.brand as brand,
  m.last4 as last4, m.exp_month as exp_month, m.exp_year as exp_year, m.is_default as is_default,
  m.status as status, m.failure_code as failure_code, m.failure_message as failure_message,
  m.event_at as event_at, m.told as told, m.created_at as created_at
from {p}.payment_methods m

-- Serializes those who make a row of one of the processor's objects, and those who find none.
-- name: apply_alone :exec
select l.slot from {p}.apply_locks l where l.slot = ($1::bigint & 255) for update;

-- name: apply_customer :opt
select c.subscriber_id as subscriber_id, c.email as email from {p}.payment_customers c where c.provider_id = $1::text;

-- Events that came before what they are about.
-- name: apply_wake :exec
update {p}.webhook_events set state = 'received', next_attempt_at = now(), attempts = 0
where object = $1::text and state = 'ignored';

-- name: apply_payment_lock :many
{payment}
where p.provider = 'processor'
  and (p.intent_id = $1::text or p.session_id = $2::text or p.invoice_payment_id = $3::text or p.id = $4::bigint)
order by p.id for update;

-- name: apply_payment_get :opt
{payment}
where p.id = $1::bigint;

-- name: apply_payment_next :one
select nextval('{p}.payments_id_seq') as id, now() as now;

-- name: apply_payment_put :exec
insert into {p}.payments as p (id, type, amount_minor, currency, status, description, reference, intent_id, session_id,
  charge_id, invoice_payment_id, customer, customer_email, subscriber_id, subscription_id, failure_code,
  failure_message, amount_refunded_minor, platform_fee_minor, disputes, paid_at, metadata, event_at, event_id,
  settle_at, told)
values ($1::bigint, $2::text, $3::bigint, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text,
  $11::text, $12::text, $13::text, $14::bigint, $15::bigint, $16::text, $17::text, $18::bigint, $19::bigint,
  $20::jsonb, $21::timestamptz, $22::jsonb, $23::timestamptz, $24::text, $25::timestamptz, $26::integer)
on conflict (id) do update set amount_minor = excluded.amount_minor, status = excluded.status,
  description = excluded.description, reference = excluded.reference, intent_id = excluded.intent_id,
  session_id = excluded.session_id, charge_id = excluded.charge_id,
  invoice_payment_id = excluded.invoice_payment_id, customer = excluded.customer,
  customer_email = excluded.customer_email, subscriber_id = excluded.subscriber_id,
  subscription_id = excluded.subscription_id, failure_code = excluded.failure_code,
  failure_message = excluded.failure_message, amount_refunded_minor = excluded.amount_refunded_minor,
  platform_fee_minor = excluded.platform_fee_minor, disputes = excluded.disputes, paid_at = excluded.paid_at,
  event_at = excluded.event_at, event_id = excluded.event_id, settle_at = excluded.settle_at,
  call_key = case when $27::boolean then null else p.call_key end,
  call_path = case when $27::boolean then null else p.call_path end,
  call_form = case when $27::boolean then null else p.call_form end,
  told = excluded.told, updated_at = greatest(now(), p.updated_at);

-- name: apply_payment_told :exec
update {p}.payments set told = told | $2::integer where id = $1::bigint;

-- name: apply_subscription_lock :many
{subscription}
where s.provider = 'processor'
  and (s.provider_subscription_id = $1::text or s.id = $2::bigint or s.session_id = $3::text)
order by s.id for update;

-- What a payment of it says of itself; its row is not held up.
-- name: apply_subscription_of :many
select s.id as id, s.provider_subscription_id as provider_subscription_id, coalesce(s.name, p.name) as name,
  s.subscriber_id as subscriber_id, s.customer_email as customer_email
from {p}.subscriptions s left join {p}.subscription_plans p on p.id = s.plan_id
where s.provider = 'processor' and (s.provider_subscription_id = $1::text or s.id = $2::bigint)
order by s.id;

-- name: apply_subscription_get :opt
{subscription}
where s.id = $1::bigint;

-- name: apply_subscription_next :one
select nextval('{p}.subscriptions_id_seq') as id, now() as now;

-- name: apply_plan :many
select p.id as id, p.name as name, p.processor_price_id = $1::text as priced from {p}.subscription_plans p
where p.processor_price_id = $1::text or p.id = $2::bigint;

-- name: apply_subscription_put :exec
insert into {p}.subscriptions as s (id, plan_id, subscriber_id, customer_email, customer, provider_subscription_id,
  session_id, name, description, amount_minor, currency, billing_interval, interval_count, trial_length_days, status,
  current_period_start, current_period_end, trial_end, cancel_at_period_end, canceled_at, ended_at, event_at,
  event_rank, event_id, settle_at, told, metadata)
values ($1::bigint, $2::bigint, $3::bigint, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::bigint,
  $11::text, $12::text, $13::integer, $14::integer, $15::text, $16::timestamptz, $17::timestamptz, $18::timestamptz,
  $19::boolean, $20::timestamptz, $21::timestamptz, $22::timestamptz, $23::smallint, $24::text, $25::timestamptz,
  $26::integer, $27::jsonb)
on conflict (id) do update set plan_id = excluded.plan_id, subscriber_id = excluded.subscriber_id,
  customer_email = excluded.customer_email, customer = excluded.customer,
  provider_subscription_id = excluded.provider_subscription_id, session_id = excluded.session_id,
  amount_minor = excluded.amount_minor, currency = excluded.currency, billing_interval = excluded.billing_interval,
  interval_count = excluded.interval_count, trial_length_days = excluded.trial_length_days,
  status = excluded.status, current_period_start = excluded.current_period_start,
  current_period_end = excluded.current_period_end, trial_end = excluded.trial_end,
  cancel_at_period_end = excluded.cancel_at_period_end, canceled_at = excluded.canceled_at,
  ended_at = excluded.ended_at, event_at = excluded.event_at, event_rank = excluded.event_rank,
  event_id = excluded.event_id, settle_at = excluded.settle_at,
  call_key = case when $28::boolean then null else s.call_key end,
  call_path = case when $28::boolean then null else s.call_path end,
  call_form = case when $28::boolean then null else s.call_form end,
  told = excluded.told, updated_at = greatest(now(), s.updated_at);

-- name: apply_subscription_told :exec
update {p}.subscriptions set told = told | $2::integer where id = $1::bigint;

-- name: apply_history_add :exec
insert into {p}.subscription_history (subscription_id, at, from_status, to_status, event_id, detail)
values ($1::bigint, $2::timestamptz, $3::text, $4::text, $5::text, $6::jsonb)
on conflict (subscription_id, event_id) where event_id is not null do nothing;

-- Events come in any order; each row's state before is the one that the row before it led to.
-- name: apply_history_link :exec
update {p}.subscription_history h set from_status = o.before
from (select x.id,
    lag(x.to_status) over (order by x.at, (x.detail ->> 'rank')::integer nulls last, x.event_id, x.id) as before
  from {p}.subscription_history x where x.subscription_id = $1::bigint) o
where h.id = o.id and h.subscription_id = $1::bigint and h.from_status is distinct from o.before;

-- name: apply_method_lock :many
{method}
where m.provider_id = $1::text or m.setup_id = $2::text
order by m.id for update;

-- name: apply_method_next :one
select nextval('{p}.payment_methods_id_seq') as id, now() as now;

-- name: apply_method_delete :exec
delete from {p}.payment_methods where id = $1::bigint;

-- name: apply_method_put :exec
insert into {p}.payment_methods as m (id, provider_id, setup_id, customer, subscriber_id, subscriber_email, type, brand,
  last4, exp_month, exp_year, status, failure_code, failure_message, event_at, told)
values ($1::bigint, $2::text, $3::text, $4::text, $5::bigint, $6::text, $7::text, $8::text, $9::text, $10::smallint,
  $11::smallint, $12::text, $13::text, $14::text, $15::timestamptz, $16::integer)
on conflict (id) do update set provider_id = excluded.provider_id, setup_id = excluded.setup_id,
  customer = excluded.customer, subscriber_id = excluded.subscriber_id,
  subscriber_email = excluded.subscriber_email, type = excluded.type, brand = excluded.brand,
  last4 = excluded.last4, exp_month = excluded.exp_month, exp_year = excluded.exp_year,
  is_default = m.is_default and excluded.status = 'active', status = excluded.status,
  failure_code = excluded.failure_code, failure_message = excluded.failure_message,
  event_at = excluded.event_at, told = excluded.told, updated_at = greatest(now(), m.updated_at);

-- name: apply_account_lock :opt
select s.doc::text as doc from {p}.settings s where s.kind = 'payments' and s.key = 'processor' for update;

-- name: apply_account_put :exec
update {p}.settings set doc = doc || $1::jsonb, updated_at = greatest(now(), updated_at)
where kind = 'payments' and key = 'processor';
