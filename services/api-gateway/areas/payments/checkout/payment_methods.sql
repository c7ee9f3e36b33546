-- Saved payment methods.

-- part: columns
m.id, m.type, m.brand, m.last4, m.exp_month, m.exp_year, m.is_default, m.status, m.subscriber_id, m.subscriber_email,
  m.provider_id, m.failure_code, m.failure_message, m.created_at, m.updated_at

-- part: filtered
(:subscriber_id::bigint? is null or m.subscriber_id = :subscriber_id::bigint)
  and (:subscriber_email::text? is null or lower(m.subscriber_email) = lower(:subscriber_email::text))
  and (:status::text? is null or m.status = :status::text)

-- name: methods_desc :many args(methods)
select {columns} from {p}.payment_methods m where {filtered} and m.id < :behind::bigint
order by m.id desc limit :limit::bigint offset :offset::bigint

-- name: methods_asc :many args(methods)
select {columns} from {p}.payment_methods m where {filtered} and m.id > :behind::bigint
order by m.id limit :limit::bigint offset :offset::bigint

-- name: methods_count :one args(methods)
select count(*) as total_items from {p}.payment_methods m where {filtered}

-- name: method_get :opt
select {columns} from {p}.payment_methods m
where m.id = :id::bigint? or m.provider_id = :provider_id::text?

-- name: method_find :opt
select m.id:bigint, m.provider_id:text?, m.customer:text?, m.subscriber_id:bigint?, m.subscriber_email:text?,
  m.status:text
from {p}.payment_methods m
where m.id = :id::bigint? or m.provider_id = :provider_id::text?

-- Deletes a failed set-up, which exists only in this table.
-- name: method_forget :exec
delete from {p}.payment_methods m where m.id = :id::bigint and m.status = 'setup_failed'

-- Customers at the processor of a subscriber or e-mail address.
-- name: method_customers :many
select c.provider_id:text! from {p}.payment_customers c
where c.provider_id is not null and (c.subscriber_id = :subscriber_id::bigint? or c.email = lower(:email::text))
order by c.id limit 10
