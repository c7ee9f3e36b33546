-- Reading subscriptions and their users.

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
(:status::text? is null or s.status = :status::text) and (:plan_id::bigint? is null or s.plan_id = :plan_id::bigint)
and (:subscriber_id::bigint? is null or s.subscriber_id = :subscriber_id::bigint) and (:provider::text? is null
  or s.provider = :provider::text)

-- name: subscriptions_desc :many args(subscriptions)
select {members} from {p}.subscriptions s where {filters} and s.id < :behind::bigint
order by s.id desc limit :limit::bigint offset :offset::bigint

-- name: subscriptions_asc :many args(subscriptions)
select {members} from {p}.subscriptions s where {filters} and s.id > :behind::bigint
order by s.id limit :limit::bigint offset :offset::bigint

-- name: subscriptions_count :one args(subscriptions)
select count(*) as total_items from {p}.subscriptions s where {filters}

-- The order in which each change follows the previous one. apply_history_link (payments/apply.sql) sets from_status in
-- this order, and store_fact_order() sorts by it, too.
-- part: history_order
n.at, (n.detail ->> 'rank')::integer nulls last, n.event_id collate "C", n.id

-- `history` has the newest 200 changes.
-- name: subscription_get :opt
select {members},
  (select coalesce(json_agg(json_build_object(
       'at', to_char(h.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'from', h.from_status,
       'to', h.to_status, 'event_id', h.event_id, 'detail', h.detail) order by h.place), '[]'::json)
   from (select n.at, n.from_status, n.to_status, n.event_id, n.detail, row_number() over (order by {history_order}) as place
         from {p}.subscription_history n where n.subscription_id = s.id order by place desc limit 200) h) as history
from {p}.subscriptions s where s.id = :id::bigint

-- name: subscription_load :opt
select s.id:bigint, s.plan_id:bigint?, s.subscriber_id:bigint?, s.provider:text,
  s.provider_subscription_id as provider_id:text?, s.session_id:text?, s.customer:text?, s.status:text,
  s.cancel_at_period_end:boolean, s.call_key:text?, s.call_path:text?, s.call_form:text?,
  s.metadata ->> 'failure_code' as failure_code:text?, s.metadata ->> 'failure_message' as failure_message:text?
from {p}.subscriptions s where s.id = :id::bigint

-- Users other than the subscriber.

-- name: subscription_users_list :page sort(user_id,email,created_at)
select u.user_id, a.email, u.created_at
from {p}.subscription_users u join {p}.users a on a.id = u.user_id
where u.subscription_id = :subscription_id::bigint

-- name: subscription_users_drop :exec
delete from {p}.subscription_users u where u.subscription_id = :subscription_id::bigint
  and u.user_id <> all(:user_ids::bigint[])

-- name: subscription_users_add :exec
insert into {p}.subscription_users (subscription_id, user_id)
select :subscription_id::bigint, unnest(:user_id::bigint[])
on conflict (subscription_id, user_id) do nothing

-- name: subscription_user :opt
select u.user_id from {p}.subscription_users u
where u.subscription_id = :subscription_id::bigint and u.user_id = :user_id::bigint

-- name: subscription_user_remove :opt
delete from {p}.subscription_users u where u.subscription_id = :subscription_id::bigint and u.user_id = :user_id::bigint
returning u.user_id
