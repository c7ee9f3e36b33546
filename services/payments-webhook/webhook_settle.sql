-- Calls and payments of unknown outcome.

-- Who is asked about belongs to this process for two minutes. With an object of the processor there is something to
-- read, and a call about it needs no repeating; without one the row's age is the age of the call that makes it.
-- name: settle_payments :many
update {p}.payments p set settle_at = now() + interval '2 minutes'
where p.id in (select d.id from {p}.payments d where d.settle_at <= now() and d.provider = 'processor'
               order by d.settle_at limit $1::bigint for update skip locked)
returning p.id as id, p.intent_id as object_id, p.session_id as session_id, p.customer as customer, p.call_key as call_key,
  p.call_path as call_path, p.call_form as call_form,
  (extract(epoch from now() - p.created_at) * 1000)::bigint as age_ms

-- name: settle_subscriptions :many
update {p}.subscriptions s set settle_at = now() + interval '2 minutes'
where s.id in (select d.id from {p}.subscriptions d where d.settle_at <= now() and d.provider = 'processor'
               order by d.settle_at limit $1::bigint for update skip locked)
returning s.id as id, s.provider_subscription_id as object_id, s.session_id as session_id, s.customer as customer,
  s.call_key as call_key, s.call_path as call_path, s.call_form as call_form,
  (extract(epoch from now() - s.created_at) * 1000)::bigint as age_ms

-- Answered. Rows in a state that only an event changes are settled; the others are read again, each time after half
-- their age, and not for ever. A call that began meanwhile has another key and keeps it.
-- name: settle_payment_answered :exec
update {p}.payments p set call_key = null, call_path = null, call_form = null,
  settle_at = case when p.status in ('succeeded', 'failed', 'canceled', 'refunded', 'partially_refunded', 'disputed')
      or p.created_at < now() - interval '30 days' then null
    else now() + least(greatest((now() - p.created_at) / 2, interval '30 seconds'), interval '6 hours') end
where p.id = $1::bigint and p.call_key is not distinct from $2::text

-- A subscription that gives access is read an hour behind the end of its period, should nobody tell of the next, and
-- each day until somebody does.
-- name: settle_subscription_answered :exec
update {p}.subscriptions s set call_key = null, call_path = null, call_form = null,
  settle_at = case
    when s.status in ('trialing', 'active', 'past_due') and s.current_period_end > now() - interval '60 days'
      then greatest(s.current_period_end + interval '1 hour', now() + interval '1 day')
    when s.status <> 'incomplete' or s.created_at < now() - interval '30 days' then null
    else now() + least(greatest((now() - s.created_at) / 2, interval '30 seconds'), interval '6 hours') end
where s.id = $1::bigint and s.call_key is not distinct from $2::text

-- Not answered: the call stays to be repeated, at least every hour, long before the processor forgets its key.
-- name: settle_payment_later :exec
update {p}.payments p
set settle_at = now() + least(greatest((now() - p.created_at) / 2, interval '15 seconds'), interval '1 hour')
where p.id = $1::bigint and p.settle_at is not null

-- name: settle_subscription_later :exec
update {p}.subscriptions s
set settle_at = now() + least(greatest((now() - s.created_at) / 2, interval '15 seconds'), interval '1 hour')
where s.id = $1::bigint and s.settle_at is not null
