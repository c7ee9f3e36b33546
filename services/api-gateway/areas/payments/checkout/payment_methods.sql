-- Saved methods as they are shown.

-- part: columns
m.id, m.type, m.brand, m.last4, m.exp_month, m.exp_year, m.is_default, m.status, m.subscriber_id, m.subscriber_email,
  m.provider_id, m.failure_code, m.failure_message, m.created_at, m.updated_at

-- part: filtered
($1::bigint is null or m.subscriber_id = $1::bigint)
  and ($2::text is null or lower(m.subscriber_email) = lower($2::text)) and ($3::text is null or m.status = $3::text)

-- name: methods_desc :many
select {columns} from {p}.payment_methods m where {filtered} and m.id < $4::bigint
order by m.id desc limit $5::bigint offset $6::bigint

-- name: methods_asc :many
select {columns} from {p}.payment_methods m where {filtered} and m.id > $4::bigint
order by m.id limit $5::bigint offset $6::bigint

-- name: methods_count :one
select count(*) as total_items from {p}.payment_methods m where {filtered}

-- name: method_get :opt
select {columns} from {p}.payment_methods m
where m.id = $1::bigint or m.provider_id = $2::text

-- name: method_find :opt
select m.id, m.provider_id, m.customer, m.subscriber_id, m.subscriber_email, m.status from {p}.payment_methods m
where m.id = $1::bigint or m.provider_id = $2::text

-- A set-up that failed is only known here.
-- name: method_forget :exec
delete from {p}.payment_methods m where m.id = $1::bigint and m.status = 'setup_failed'

-- Where a payer's methods are, when there is such a payer.
-- name: method_customers :many
select c.provider_id from {p}.payment_customers c
where c.provider_id is not null and (c.subscriber_id = $1::bigint or c.email = lower($2::text))
order by c.id limit 10
