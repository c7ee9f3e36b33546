-- Payments. Columns whose names begin with '_' are not shown.

-- part: columns
p.id:bigint, p.type:text, p.provider:text, p.amount_minor:bigint, p.currency:text, p.status:text, p.description:text?,
  p.reference:text?, p.customer_email:text?, p.subscriber_id:bigint?, p.subscription_id:bigint?,
  p.payment_method_id:bigint?,
  case when p.status = 'requires_payment_method' then p.checkout_url end as checkout_url:text?, p.failure_code:text?,
  p.failure_message:text?, p.amount_refunded_minor:bigint, p.platform_fee_minor:bigint, p.paid_at:timestamptz?,
  p.metadata:jsonb, p.created_at:timestamptz, p.updated_at:timestamptz

-- part: inside
p.customer as _customer:text?, p.intent_id as _intent_id:text?, p.session_id as _session_id:text?,
  p.call_key as _call_key:text?, p.call_path as _call_path:text?, p.call_form as _call_form:text?

-- part: filtered
(:status::text? is null or p.status = :status::text) and (:type::text? is null or p.type = :type::text)
  and (:provider::text? is null or p.provider = :provider::text)
  and (:subscriber_id::bigint? is null or p.subscriber_id = :subscriber_id::bigint)
  and (:subscription_id::bigint? is null or p.subscription_id = :subscription_id::bigint)
  and (:created_from::timestamptz? is null or p.created_at >= :created_from::timestamptz)
  and (:created_to::timestamptz? is null or p.created_at < :created_to::timestamptz)

-- name: payments_desc :many args(payments) row(payment_listed)
select {columns} from {p}.payments p where {filtered} and p.id < :behind::bigint
order by p.id desc limit :limit::bigint offset :offset::bigint

-- name: payments_asc :many args(payments) row(payment_listed)
select {columns} from {p}.payments p where {filtered} and p.id > :behind::bigint
order by p.id limit :limit::bigint offset :offset::bigint

-- name: payments_count :one args(payments)
select count(*) as total_items from {p}.payments p where {filtered}

-- name: payment_get :opt args(payment_id) row(payment)
select {columns}, {inside} from {p}.payments p where p.id = :id::bigint

-- name: payment_lock :opt args(payment_id) row(payment)
select {columns}, {inside} from {p}.payments p where p.id = :id::bigint for update

-- name: payment_by_intent :opt row(payment)
select {columns}, {inside} from {p}.payments p where p.intent_id = :intent_id::text

-- --- calls --------------------------------------------------------------------------------------

-- name: payment_add :one
insert into {p}.payments (type, amount_minor, currency, description, customer, customer_email, subscriber_id,
  payment_method_id, platform_fee_minor, metadata, created_by)
values (:type::text, :amount_minor::bigint, :currency::text, :description::text?, :customer::text?,
  :customer_email::text?, :subscriber_id::bigint?, :payment_method_id::bigint?, :platform_fee_minor::bigint,
  :metadata::jsonb, :created_by::bigint)
returning id as id:bigint

-- name: payment_set_method :exec
update {p}.payments set payment_method_id = :payment_method_id::bigint where id = :id::bigint
