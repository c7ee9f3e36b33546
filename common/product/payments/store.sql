-- Subscriptions and purchases of the app store.

-- name: store_subscription_lock :opt
select s.id:bigint, s.status:text, s.store_status:text?, s.environment:text?, s.event_at:timestamptz?
from {p}.subscriptions s
where s.provider = 'iap_store' and s.provider_subscription_id = :provider_subscription_id::text
for update

-- name: store_subscription_add :exec
insert into {p}.subscriptions (provider, provider_subscription_id, environment)
values ('iap_store', :provider_subscription_id::text, :environment::text)
on conflict (provider, provider_subscription_id) do nothing

-- name: store_history :many
select h.id:bigint, h.at:timestamptz, h.event_id:text!, h.from_status:text?, h.to_status:text, h.detail:jsonb
from {p}.subscription_history h
where h.subscription_id = :subscription_id::bigint and h.event_id is not null

-- name: store_history_add :exec
insert into {p}.subscription_history (subscription_id, at, event_id, from_status, to_status, detail)
values (:subscription_id::bigint, :at::timestamptz, :event_id::text, :from_status::text, :to_status::text,
  :detail::jsonb)

-- name: store_history_set :exec
update {p}.subscription_history set from_status = :from_status::text,
  to_status = :to_status::text where id = :id::bigint

-- Plan and subscriber are those that the store names, or null if the project does not have them.
-- name: store_subscription_set :exec
update {p}.subscriptions s set
  status = :status::text,
  store_status = :store_status::text?,
  store_product_id = :store_product_id::text?,
  store_transaction_id = :store_transaction_id::text?,
  plan_id = (select sp.id from {p}.subscription_plans sp where sp.store_product_id = :store_product_id::text?),
  subscriber_id = (select u.id from {p}.users u where u.id = :user_id::bigint?),
  current_period_start = :current_period_start::timestamptz?,
  current_period_end = :current_period_end::timestamptz?,
  trial_end = :trial_end::timestamptz?,
  trial_length_days = :trial_length_days::integer,
  grace_end = :grace_end::timestamptz?,
  cancel_at_period_end = :cancel_at_period_end::boolean,
  canceled_at = :canceled_at::timestamptz?,
  ended_at = :ended_at::timestamptz?,
  amount_minor = :amount_minor::bigint?,
  currency = :currency::text?,
  metadata = :metadata::jsonb,
  event_at = :event_at::timestamptz,
  updated_at = greatest(now(), s.updated_at)
where s.id = :id::bigint

-- name: store_purchase_lock :opt args(store_purchase_key)
select p.id:bigint, p.status:text, p.event_at:timestamptz?
from {p}.payments p
where p.environment = :environment::text and p.store_transaction_id = :store_transaction_id::text
for update

-- name: store_purchase_add :exec args(store_purchase_key)
insert into {p}.payments (type, provider, amount_minor, currency, status, description, reference, environment,
                          store_transaction_id)
values ('one_off', 'iap_store', 0, 'xxx', 'processing', null, :store_transaction_id::text, :environment::text,
  :store_transaction_id::text)
on conflict (environment, store_transaction_id) do nothing

-- name: store_purchase_set :exec
update {p}.payments p set
  status = :status::text,
  amount_minor = :amount_minor::bigint,
  currency = :currency::text,
  amount_refunded_minor = :amount_refunded_minor::bigint,
  description = :description::text,
  subscriber_id = (select u.id from {p}.users u where u.id = :user_id::bigint?),
  paid_at = :paid_at::timestamptz?,
  metadata = :metadata::jsonb,
  event_at = :event_at::timestamptz,
  updated_at = greatest(now(), p.updated_at)
where p.id = :id::bigint
