-- Statements that apply the processor's objects. Rows are read under a lock and written whole.

-- part: payment
select p.id:bigint, p.type:text, p.provider:text, p.amount_minor:bigint, p.currency:text, p.status:text,
  p.description:text?, p.reference:text?, p.intent_id:text?, p.session_id:text?, p.charge_id:text?,
  p.invoice_payment_id:text?, p.customer:text?, p.customer_email:text?, p.subscriber_id:bigint?,
  p.payment_method_id:bigint?, p.subscription_id:bigint?, p.failure_code:text?, p.failure_message:text?,
  p.amount_refunded_minor:bigint, p.platform_fee_minor:bigint, p.disputes::text as disputes:text,
  p.declines::text as declines:text, p.refunds::text as refunds:text, p.paid_at:timestamptz?, p.metadata::text as metadata:text,
  p.event_at:timestamptz?, p.event_id:text?, p.event_rank:smallint, p.settle_at:timestamptz?, p.call_key is not null as calling:boolean, p.emitted:integer,
  p.created_at:timestamptz from {p}.payments p

-- part: subscription
select s.id:bigint, s.plan_id:bigint?, s.subscriber_id:bigint?, s.customer_email:text?, s.customer:text?,
  s.provider:text, s.provider_subscription_id:text?, s.session_id:text?, s.name:text?, s.description:text?,
  s.amount_minor:bigint?, s.currency:text?, s.billing_interval:text?, s.interval_count:integer?,
  s.trial_length_days:integer, s.status:text, s.current_period_start:timestamptz?, s.current_period_end:timestamptz?,
  s.trial_end:timestamptz?, s.cancel_at_period_end:boolean, s.canceled_at:timestamptz?, s.ended_at:timestamptz?,
  s.event_at:timestamptz?, s.event_rank:smallint, s.event_id:text?, s.settle_at:timestamptz?,
  s.call_key is not null as calling:boolean, s.emitted:integer, s.metadata::text as metadata:text,
  s.created_at:timestamptz, s.updated_at:timestamptz from {p}.subscriptions s

-- part: method
select m.id:bigint, m.provider_id:text?, m.setup_id:text?, m.customer:text?, m.subscriber_id:bigint?,
  m.subscriber_email:text?, m.type:text, m.brand:text?, m.last4:text?, m.exp_month:smallint?, m.exp_year:smallint?,
  m.is_default:boolean, m.status:text, m.failure_code:text?, m.failure_message:text?, m.event_at:timestamptz?,
  m.emitted:integer, m.created_at:timestamptz from {p}.payment_methods m

-- Serializes transactions that create a row for the same object of the processor, or that find no row.
-- name: apply_lock :exec
select l.slot from {p}.apply_locks l where l.slot = (:key::bigint & 255) for update;

-- name: apply_customer :opt
select c.subscriber_id:bigint?, c.email:text from {p}.payment_customers c where c.provider_id = :provider_id::text;

-- Puts events back in the queue that arrived before the row that they are about.
-- name: apply_wake :exec
update {p}.webhook_events set state = 'received', next_attempt_at = now(), attempts = 0
where object = :object::text and state = 'ignored';

-- name: apply_payment_lock :many row(payment)
{payment}
where p.provider = 'processor'
  and (p.intent_id = :intent_id::text or p.session_id = :session_id::text
  or p.invoice_payment_id = :invoice_payment_id::text or p.id = :id::bigint)
order by p.id for update;

-- name: apply_payment_get :opt args(apply_key) row(payment)
{payment}
where p.id = :id::bigint;

-- name: apply_payment_next :one row(apply_next)
select nextval('{p}.payments_id_seq') as id:bigint, now() as now:timestamptz;

-- name: apply_payment_put :exec
insert into {p}.payments as p (id, type, amount_minor, currency, status, description, reference, intent_id, session_id,
  charge_id, invoice_payment_id, customer, customer_email, subscriber_id, subscription_id, failure_code,
  failure_message, amount_refunded_minor, platform_fee_minor, disputes, declines, refunds, paid_at, metadata, event_at,
  event_id, event_rank, settle_at, emitted)
values (:id::bigint, :type::text, :amount_minor::bigint, :currency::text, :status::text, :description::text,
  :reference::text, :intent_id::text, :session_id::text, :charge_id::text, :invoice_payment_id::text, :customer::text,
  :customer_email::text, :subscriber_id::bigint?, :subscription_id::bigint?, :failure_code::text,
  :failure_message::text, :amount_refunded_minor::bigint, :platform_fee_minor::bigint, :disputes::jsonb,
  :declines::jsonb, :refunds::jsonb, :paid_at::timestamptz?, :metadata::jsonb, :event_at::timestamptz?, :event_id::text,
  :event_rank::smallint, :settle_at::timestamptz?, :emitted::integer)
on conflict (id) do update set amount_minor = excluded.amount_minor, status = excluded.status,
  description = excluded.description, reference = excluded.reference, intent_id = excluded.intent_id,
  session_id = excluded.session_id, charge_id = excluded.charge_id,
  invoice_payment_id = excluded.invoice_payment_id, customer = excluded.customer,
  customer_email = excluded.customer_email, subscriber_id = excluded.subscriber_id,
  subscription_id = excluded.subscription_id, failure_code = excluded.failure_code,
  failure_message = excluded.failure_message, amount_refunded_minor = excluded.amount_refunded_minor,
  platform_fee_minor = excluded.platform_fee_minor, disputes = excluded.disputes, declines = excluded.declines,
  refunds = excluded.refunds,
  paid_at = excluded.paid_at, event_at = excluded.event_at, event_id = excluded.event_id,
  event_rank = excluded.event_rank, settle_at = excluded.settle_at,
  call_key = case when :ended::boolean then null else p.call_key end,
  call_path = case when :ended::boolean then null else p.call_path end,
  call_form = case when :ended::boolean then null else p.call_form end,
  emitted = excluded.emitted, updated_at = greatest(now(), p.updated_at);

-- name: apply_payment_emitted :exec args(apply_emitted)
update {p}.payments set emitted = emitted | :emitted::integer where id = :id::bigint;

-- name: apply_subscription_lock :many row(subscription)
{subscription}
where s.provider = 'processor'
  and (s.provider_subscription_id = :provider_subscription_id::text or s.id = :id::bigint
  or s.session_id = :session_id::text)
order by s.id for update;

-- Values that a payment copies from its subscription, whose row is not locked.
-- name: apply_invoice_subscription :many
select s.id:bigint, s.provider_subscription_id:text?, coalesce(s.name, p.name) as name:text?, s.subscriber_id:bigint?,
  s.customer_email:text? from {p}.subscriptions s left join {p}.subscription_plans p on p.id = s.plan_id
where s.provider = 'processor' and (s.provider_subscription_id = :provider_subscription_id::text or s.id = :id::bigint)
order by s.id;

-- name: apply_subscription_get :opt args(apply_key) row(subscription)
{subscription}
where s.id = :id::bigint;

-- name: apply_subscription_next :one row(apply_next)
select nextval('{p}.subscriptions_id_seq') as id:bigint, now() as now:timestamptz;

-- name: apply_plan :many
select p.id:bigint, p.name:text?,
  p.processor_price_id = :processor_price_id::text as priced:boolean? from {p}.subscription_plans p
where p.processor_price_id = :processor_price_id::text or p.id = :id::bigint;

-- name: apply_subscription_put :exec
insert into {p}.subscriptions as s (id, plan_id, subscriber_id, customer_email, customer, provider_subscription_id,
  session_id, name, description, amount_minor, currency, billing_interval, interval_count, trial_length_days, status,
  current_period_start, current_period_end, trial_end, cancel_at_period_end, canceled_at, ended_at, event_at,
  event_rank, event_id, settle_at, emitted, metadata)
values (:id::bigint, :plan_id::bigint?, :subscriber_id::bigint?, :customer_email::text, :customer::text,
  :provider_subscription_id::text, :session_id::text, :name::text, :description::text, :amount_minor::bigint?,
  :currency::text, :billing_interval::text, :interval_count::integer?, :trial_length_days::integer, :status::text,
  :current_period_start::timestamptz?, :current_period_end::timestamptz?, :trial_end::timestamptz?,
  :cancel_at_period_end::boolean, :canceled_at::timestamptz?, :ended_at::timestamptz?, :event_at::timestamptz?,
  :event_rank::smallint, :event_id::text, :settle_at::timestamptz?, :emitted::integer, :metadata::jsonb)
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
  call_key = case when :settled::boolean then null else s.call_key end,
  call_path = case when :settled::boolean then null else s.call_path end,
  call_form = case when :settled::boolean then null else s.call_form end,
  emitted = excluded.emitted, updated_at = greatest(now(), s.updated_at);

-- name: apply_subscription_emitted :exec args(apply_emitted)
update {p}.subscriptions set emitted = emitted | :emitted::integer where id = :id::bigint;

-- name: apply_history_add :exec
insert into {p}.subscription_history (subscription_id, at, from_status, to_status, event_id, detail)
values (:subscription_id::bigint, :at::timestamptz, :from_status::text?, :to_status::text, :event_id::text,
  :detail::jsonb)
on conflict (subscription_id, event_id) where event_id is not null do nothing;

-- Events arrive in any order, so each row's from_status is taken from the row before it. GET /subscriptions/{id} lists rows
-- in the same order (history_order of billing/subscriptions.sql).
-- name: apply_history_link :exec
update {p}.subscription_history h set from_status = o.before
from (select x.id,
    lag(x.to_status) over (order by x.at, (x.detail ->> 'rank')::integer nulls last, x.event_id collate "C", x.id) as before
  from {p}.subscription_history x where x.subscription_id = :subscription_id::bigint) o
where h.id = o.id and h.subscription_id = :subscription_id::bigint and h.from_status is distinct from o.before;

-- name: apply_method_lock :many row(method)
{method}
where m.provider_id = :provider_id::text or m.setup_id = :setup_id::text
order by m.id for update;

-- name: apply_method_next :one row(apply_next)
select nextval('{p}.payment_methods_id_seq') as id:bigint, now() as now:timestamptz;

-- name: apply_method_delete :exec
delete from {p}.payment_methods where id = :id::bigint;

-- name: apply_method_put :exec
insert into {p}.payment_methods as m (id, provider_id, setup_id, customer, subscriber_id, subscriber_email, type, brand,
  last4, exp_month, exp_year, status, failure_code, failure_message, event_at, emitted)
values (:id::bigint, :provider_id::text, :setup_id::text, :customer::text, :subscriber_id::bigint?,
  :subscriber_email::text, :type::text, :brand::text, :last4::text, :exp_month::smallint?, :exp_year::smallint?,
  :status::text, :failure_code::text, :failure_message::text, :event_at::timestamptz?, :emitted::integer)
on conflict (id) do update set provider_id = excluded.provider_id, setup_id = excluded.setup_id,
  customer = excluded.customer, subscriber_id = excluded.subscriber_id,
  subscriber_email = excluded.subscriber_email, type = excluded.type, brand = excluded.brand,
  last4 = excluded.last4, exp_month = excluded.exp_month, exp_year = excluded.exp_year,
  is_default = m.is_default and excluded.status = 'active', status = excluded.status,
  failure_code = excluded.failure_code, failure_message = excluded.failure_message,
  event_at = excluded.event_at, emitted = excluded.emitted, updated_at = greatest(now(), m.updated_at);

-- name: apply_account_lock :opt
select s.doc::text as doc:text from {p}.settings s where s.kind = 'payments' and s.key = 'processor' for update;

-- name: apply_account_put :exec
update {p}.settings set doc = doc || :doc::jsonb, updated_at = greatest(now(), updated_at)
where kind = 'payments' and key = 'processor';
