-- Payments as they are shown. Columns that begin with '_' are not.

-- part: columns
p.id, p.type, p.provider, p.amount_minor, p.currency, p.status, p.description, p.reference, p.customer_email,
  p.subscriber_id, p.subscription_id, p.payment_method_id,
  case when p.status = 'requires_payment_method' then p.checkout_url end as checkout_url,
  p.failure_code, p.failure_message, p.amount_refunded_minor, p.platform_fee_minor, p.paid_at, p.metadata, p.created_at,
  p.updated_at

-- part: inside
p.customer as _customer, p.intent_id as _intent_id, p.session_id as _session_id, p.call_key as _call_key, p.call_path as _call_path,
  p.call_form as _call_form

-- part: filtered
($1::text is null or p.status = $1::text) and ($2::text is null or p.type = $2::text)
  and ($3::text is null or p.provider = $3::text)
  and ($4::bigint is null or p.subscriber_id = $4::bigint) and ($5::bigint is null or p.subscription_id = $5::bigint)
  and ($6::timestamptz is null or p.created_at >= $6::timestamptz)
  and ($7::timestamptz is null or p.created_at < $7::timestamptz)

-- name: payments_desc :many
select {columns} from {p}.payments p where {filtered} and p.id < $8::bigint
order by p.id desc limit $9::bigint offset $10::bigint

-- name: payments_asc :many
select {columns} from {p}.payments p where {filtered} and p.id > $8::bigint
order by p.id limit $9::bigint offset $10::bigint

-- name: payments_count :one
select count(*) as total_items from {p}.payments p where {filtered}

-- name: payment_get :opt
select {columns}, {inside} from {p}.payments p where p.id = $1::bigint

-- name: payment_lock :opt
select {columns}, {inside} from {p}.payments p where p.id = $1::bigint for update

-- name: payment_by_intent :opt
select {columns}, {inside} from {p}.payments p where p.intent_id = $1::text

-- --- calls --------------------------------------------------------------------------------------

-- name: payment_add :one
insert into {p}.payments (type, amount_minor, currency, description, customer, customer_email, subscriber_id,
  payment_method_id, platform_fee_minor, metadata, created_by)
values ($1::text, $2::bigint, $3::text, $4::text, $5::text, $6::text, $7::bigint, $8::bigint, $9::bigint, $10::jsonb,
  $11::bigint)
returning id

-- name: payment_set_method :exec
update {p}.payments set payment_method_id = $2::bigint where id = $1::bigint
