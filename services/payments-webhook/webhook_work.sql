-- Claims events and records their outcome.

-- part: claim
update {p}.webhook_events w set state = 'received', attempts = w.attempts + 1,
  next_attempt_at = now() + :lease_ms::bigint * interval '1 millisecond',
  error = case when w.state = 'received' and w.attempts > 0 then {crashed} else w.error end
where w.ctid = any (array(select e.ctid from {p}.webhook_events e where e.next_attempt_at <= now()

-- part: claimed
  order by e.next_attempt_at limit :most::bigint for update skip locked))
returning w.id:bigint, w.source:text, w.event_id:text, w.type:text, w.attempts as token:smallint,
  w.received_at:timestamptz, w.payload:text

-- part: crashed
'it ended the process that applied it'

-- The claim is a lease that ends at next_attempt_at. A locked row cannot move, so its ctid finds it. An event in state received that has
-- attempts was left by a process that crashed.
-- name: events_claim :many row(event)
{claim} and not (e.state = 'received' and e.attempts > 0) {claimed}

-- name: events_claim_crashed :many row(event)
{claim} and e.state = 'received' and e.attempts > 0 {claimed}

-- An event that had failed in another way before is quarantined only after two crashes.
-- name: events_quarantine :many
update {p}.webhook_events w set state = 'dead', next_attempt_at = null, error = {crashed}
where w.ctid = any (array(select e.ctid from {p}.webhook_events e
  where e.next_attempt_at <= now() and e.state = 'received' and e.attempts >= :attempts::smallint
    and (e.error is null or e.error = {crashed})
  order by e.next_attempt_at limit 100 for update skip locked))
returning w.id as id, w.attempts as attempt, true as quarantined

-- Releases events that were claimed but not begun, and does not count the attempt.
-- name: events_release :exec
update {p}.webhook_events w set attempts = w.attempts - 1, next_attempt_at = now(),
  state = case when w.attempts > 1 then 'failed' else 'received' end
where w.id = any (:ids::bigint[]) and w.attempts = (:tokens::bigint[])[array_position(:ids::bigint[], w.id)] and w.state = 'received'

-- Locks the event if this process still owns it. Waits for the lock, because this process's previous attempt may still be rolling back.
-- name: event_lock :opt
select e.id from {p}.webhook_events e
where e.id = :id::bigint and e.attempts = :token::smallint and e.state = 'received'
for update

-- name: event_done :exec
update {p}.webhook_events w
set state = :state::text, next_attempt_at = null, applied_at = now(), object = :object::text?,
  effect = :effect::text?, error = null
where w.id = :id::bigint and w.attempts = :token::smallint

-- name: event_failed :exec
update {p}.webhook_events w
set state = case when :again_ms::bigint? is null then 'dead' else 'failed' end, error = :error::text,
  next_attempt_at = case when :again_ms::bigint? is not null then now() + :again_ms::bigint? * interval '1 millisecond' end
where w.id = :id::bigint and w.attempts = :token::smallint and w.state = 'received'
