-- Payments and subscriptions whose calls or states have an unknown outcome.

-- Claims due rows for two minutes. A row that has an object of the processor is settled by reading it, without
-- repeating a call. For other rows the age of the row is the age of the call that makes it.
-- name: settle_payments :many args(settle_claim) row(settle)
update {p}.payments p set settle_at = now() + interval '2 minutes'
where p.id in (select d.id from {p}.payments d where d.settle_at <= now() and d.provider = 'processor'
               order by d.settle_at limit :most::bigint for update skip locked)
returning p.id:bigint, p.intent_id as object_id:text?, p.session_id:text?, p.customer:text?, p.call_key:text?,
  p.call_path:text?, p.call_form:text?, (extract(epoch from now() - p.created_at) * 1000)::bigint as age_ms:bigint

-- name: settle_subscriptions :many args(settle_claim) row(settle)
update {p}.subscriptions s set settle_at = now() + interval '2 minutes'
where s.id in (select d.id from {p}.subscriptions d where d.settle_at <= now() and d.provider = 'processor'
               order by d.settle_at limit :most::bigint for update skip locked)
returning s.id:bigint, s.provider_subscription_id as object_id:text?, s.session_id:text?, s.customer:text?,
  s.call_key:text?, s.call_path:text?, s.call_form:text?,
  (extract(epoch from now() - s.created_at) * 1000)::bigint as age_ms:bigint

-- Records that the processor has answered. A row in a state that only an event changes is settled. Other rows are read
-- again, each time after half their age, until they are 30 days old. A call that began in the meantime has another key,
-- and its row is left as it is.
-- name: settle_payment_answered :exec args(settle_answered)
update {p}.payments p set call_key = null, call_path = null, call_form = null,
  settle_at = case when p.status in ('succeeded', 'failed', 'canceled', 'refunded', 'partially_refunded', 'disputed')
      or p.created_at < now() - interval '30 days' then null
    else now() + least(greatest((now() - p.created_at) / 2, interval '30 seconds'), interval '6 hours') end
where p.id = :id::bigint and p.call_key is not distinct from :call_key::text?

-- A subscription that gives access is read an hour after the end of its period, in case no event announces the next
-- period, and then each day until an event announces it, for 60 days.
-- name: settle_subscription_answered :exec args(settle_answered)
update {p}.subscriptions s set call_key = null, call_path = null, call_form = null,
  settle_at = case
    when s.status in ('trialing', 'active', 'past_due') and s.current_period_end > now() - interval '60 days'
      then greatest(s.current_period_end + interval '1 hour', now() + interval '1 day')
    when s.status <> 'incomplete' or s.created_at < now() - interval '30 days' then null
    else now() + least(greatest((now() - s.created_at) / 2, interval '30 seconds'), interval '6 hours') end
where s.id = :id::bigint and s.call_key is not distinct from :call_key::text?

-- Records that the processor has not answered. The call stays in the row and is repeated at least every hour, long
-- before the processor forgets its key.
-- name: settle_payment_later :exec args(settle_later)
update {p}.payments p
set settle_at = now() + least(greatest((now() - p.created_at) / 2, interval '15 seconds'), interval '1 hour')
where p.id = :id::bigint and p.settle_at is not null

-- name: settle_subscription_later :exec args(settle_later)
update {p}.subscriptions s
set settle_at = now() + least(greatest((now() - s.created_at) / 2, interval '15 seconds'), interval '1 hour')
where s.id = :id::bigint and s.settle_at is not null
