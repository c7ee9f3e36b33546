-- The call that creates or changes a payment or a subscription: stored before it is sent, removed when it has ended.

-- delay_ms: milliseconds until the timer may settle the call.
-- name: call_payment_note :exec args(call_note)
update {p}.payments
set call_key = :call_key::text, call_path = :call_path::text, call_form = :call_form::text,
  settle_at = now() + :delay_ms::bigint * interval '1 millisecond', updated_at = greatest(now(), updated_at)
where id = :id::bigint

-- name: call_subscription_note :exec args(call_note)
update {p}.subscriptions
set call_key = :call_key::text, call_path = :call_path::text, call_form = :call_form::text,
  settle_at = now() + :delay_ms::bigint * interval '1 millisecond'
where id = :id::bigint

-- The outcome of the call is known. A call that was noted since then has another key and stays.
-- name: call_payment_close :exec
update {p}.payments
set call_key = null, call_path = null, call_form = null, checkout_url = coalesce(:checkout_url::text, checkout_url),
  settle_at = case when status in ('succeeded', 'failed', 'canceled', 'refunded', 'partially_refunded', 'disputed')
    then null else settle_at end
where id = :id::bigint and coalesce(call_key, :call_key::text) = :call_key::text

-- An open checkout is fetched again after it has ended, in case no event announced its end.
-- name: call_subscription_close :exec
update {p}.subscriptions s
set call_key = null, call_path = null, call_form = null, session_id = coalesce(s.session_id, :session_id::text),
  settle_at = case when s.status <> 'incomplete' then s.settle_at
    else now() + greatest(:open_ms::bigint, 30000) * interval '1 millisecond' end
where s.id = :id::bigint and coalesce(s.call_key, :call_key::text) = :call_key::text

-- Fails only a payment that was never seen at the processor.
-- name: call_payment_failed :opt args(call_failed)
update {p}.payments p set status = 'failed', failure_code = :failure_code::text,
  failure_message = :failure_message::text,
  updated_at = greatest(now(), p.updated_at),
  call_key = null, call_path = null, call_form = null, settle_at = null
where p.id = :id::bigint and p.call_key is not distinct from :call_key::text and p.intent_id is null
  and p.session_id is null
  and p.status in ('requires_payment_method', 'requires_confirmation', 'requires_action', 'processing')
returning p.id

-- An offer code that the subscription had redeemed may be used again.
-- name: call_subscription_failed :opt args(call_failed)
with failed as (
  update {p}.subscriptions s set status = 'incomplete_expired', updated_at = greatest(now(), s.updated_at),
  ended_at = now(),
    call_key = null, call_path = null, call_form = null, settle_at = null,
    metadata = s.metadata || jsonb_build_object('failure_code', :failure_code::text, 'failure_message',
    :failure_message::text)
  where s.id = :id::bigint and s.call_key is not distinct from :call_key::text and s.provider_subscription_id is null
    and s.session_id is null and s.status = 'incomplete'
  returning s.id
), history as (
  insert into {p}.subscription_history (subscription_id, at, from_status, to_status, detail)
  select f.id, now(), 'incomplete', 'incomplete_expired', jsonb_build_object('failure_code',
  :failure_code::text) from failed f
), gone as (
  delete from {p}.offer_redemptions d using failed f where d.subscription_id = f.id returning d.code_id
), free as (
  update {p}.offer_codes c set redeemed = c.redeemed - 1 from gone g where c.id = g.code_id
)
select f.id from failed f

-- The call was certainly not carried out: deletes the row that it was to create.
-- name: call_payment_not_begun :exec args(call_not_begun)
delete from {p}.payments
where id = :id::bigint and call_key = :call_key::text and intent_id is null and session_id is null and emitted = 0

-- name: call_subscription_release :exec
with gone as (
  delete from {p}.offer_redemptions d where d.subscription_id = :id::bigint returning d.code_id
)
update {p}.offer_codes c set redeemed = c.redeemed - 1 from gone g where c.id = g.code_id

-- name: call_subscription_not_begun :exec args(call_not_begun)
delete from {p}.subscriptions s
where s.id = :id::bigint and s.call_key = :call_key::text and s.provider_subscription_id is null
  and s.session_id is null
