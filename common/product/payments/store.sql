-- Subscriptions and purchases of the app store.

-- name: store_subscription_lock :opt
select s.id as id, s.status as status, s.store_status as store_status, s.environment as environment,
       s.event_at as event_at
from {p}.subscriptions s
where s.provider = 'iap_store' and s.provider_subscription_id = $1::text
for update

-- name: store_subscription_add :exec
insert into {p}.subscriptions (provider, provider_subscription_id, environment)
values ('iap_store', $1::text, $2::text)
on conflict (provider, provider_subscription_id) do nothing

-- name: store_history :many
select h.id as id, h.at as at, h.event_id as event_id, h.from_status as from_status, h.to_status as to_status,
       h.detail as detail
from {p}.subscription_history h
where h.subscription_id = $1::bigint and h.event_id is not null

-- name: store_history_add :exec
insert into {p}.subscription_history (subscription_id, at, event_id, from_status, to_status, detail)
values ($1::bigint, $2::timestamptz, $3::text, $4::text, $5::text, $6::jsonb)

-- name: store_history_set :exec
update {p}.subscription_history set from_status = $2::text, to_status = $3::text where id = $1::bigint

-- Plan and subscriber are what the store tells, as far as we have them.
-- name: store_subscription_set :exec
update {p}.subscriptions s set
  status = $2::text,
  store_status = $3::text,
  store_product_id = $4::text,
  store_transaction_id = $5::text,
  plan_id = (select sp.id from {p}.subscription_plans sp where sp.store_product_id = $4::text),
  subscriber_id = (select u.id from {p}.users u where u.id = $6::bigint),
  current_period_start = $7::timestamptz,
  current_period_end = $8::timestamptz,
  trial_end = $9::timestamptz,
  trial_length_days = $10::integer,
  grace_end = $11::timestamptz,
  cancel_at_period_end = $12::boolean,
  canceled_at = $13::timestamptz,
  ended_at = $14::timestamptz,
  amount_minor = $15::bigint,
  currency = $16::text,
  metadata = $17::jsonb,
  event_at = $18::timestamptz,
  updated_at = greatest(now(), s.updated_at)
where s.id = $1::bigint

-- name: store_purchase_lock :opt
select p.id as id, p.status as status, p.event_at as event_at
from {p}.payments p
where p.environment = $1::text and p.store_transaction_id = $2::text
for update

-- name: store_purchase_add :exec
insert into {p}.payments (type, provider, amount_minor, currency, status, description, reference, environment,
                          store_transaction_id)
values ('one_off', 'iap_store', 0, 'xxx', 'processing', null, $2::text, $1::text, $2::text)
on conflict (environment, store_transaction_id) do nothing

-- name: store_purchase_set :exec
update {p}.payments p set
  status = $2::text,
  amount_minor = $3::bigint,
  currency = $4::text,
  amount_refunded_minor = $5::bigint,
  description = $6::text,
  subscriber_id = (select u.id from {p}.users u where u.id = $7::bigint),
  paid_at = $8::timestamptz,
  metadata = $9::jsonb,
  event_at = $10::timestamptz,
  updated_at = greatest(now(), p.updated_at)
where p.id = $1::bigint
