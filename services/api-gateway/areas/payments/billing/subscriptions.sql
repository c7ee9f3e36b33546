-- Subscriptions: reading them.

-- part: members
s.id, s.plan_id, s.subscriber_id, s.customer_email, s.name, s.description, s.status, s.provider,
s.provider_subscription_id, trim_scale(s.amount_minor / {decimals}) as amount, s.amount_minor, s.currency,
s.billing_interval, s.interval_count, s.trial_length_days, s.current_period_start, s.current_period_end, s.trial_end,
s.cancel_at_period_end, s.canceled_at, s.ended_at, s.store_status, s.store_product_id, s.environment, s.metadata,
s.created_at, s.updated_at

-- Minor units in one unit of the currency (payments/money.c).
-- part: decimals
case when s.currency in ({zero_decimal}) then 1
     when s.currency in ({three_decimal}) then 1000 else 100 end::numeric

-- part: filters
($1::text is null or s.status = $1::text) and ($2::bigint is null or s.plan_id = $2::bigint)
and ($3::bigint is null or s.subscriber_id = $3::bigint) and ($4::text is null or s.provider = $4::text)

-- name: subscriptions_desc :many
select {members} from {p}.subscriptions s where {filters} and s.id < $5::bigint
order by s.id desc limit $6::bigint offset $7::bigint

-- name: subscriptions_asc :many
select {members} from {p}.subscriptions s where {filters} and s.id > $5::bigint
order by s.id limit $6::bigint offset $7::bigint

-- name: subscriptions_count :one
select count(*) as total_items from {p}.subscriptions s where {filters}

-- The newest of its history are shown.
-- name: subscription_get :opt
select {members},
  (select coalesce(json_agg(json_build_object(
       'at', to_char(h.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'from', h.from_status,
       'to', h.to_status, 'event_id', h.event_id, 'detail', h.detail) order by h.at, h.id), '[]'::json)
   from (select n.at, n.id, n.from_status, n.to_status, n.event_id, n.detail from {p}.subscription_history n
         where n.subscription_id = s.id order by n.at desc, n.id desc limit 200) h) as history
from {p}.subscriptions s where s.id = $1::bigint

-- name: subscription_load :opt
select s.id, s.plan_id, s.subscriber_id, s.provider, s.provider_subscription_id as provider_id, s.session_id, s.customer,
  s.status, s.cancel_at_period_end, s.call_key, s.call_path, s.call_form, s.metadata ->> 'failure_code' as failure_code,
  s.metadata ->> 'failure_message' as failure_message
from {p}.subscriptions s where s.id = $1::bigint

-- Users besides the subscriber.

-- name: subscription_users_list :page sort(user_id,email,created_at)
select u.user_id, a.email, u.created_at
from {p}.subscription_users u join {p}.users a on a.id = u.user_id
where u.subscription_id = $1::bigint

-- name: subscription_users_drop :exec
delete from {p}.subscription_users u where u.subscription_id = $1::bigint and u.user_id <> all($2::bigint[])

-- name: subscription_users_add :exec
insert into {p}.subscription_users (subscription_id, user_id)
select $1::bigint, unnest($2::bigint[])
on conflict (subscription_id, user_id) do nothing

-- name: subscription_user_remove :opt
delete from {p}.subscription_users u where u.subscription_id = $1::bigint and u.user_id = $2::bigint
returning u.user_id
