-- Events received from the processor and the app store.

-- part: columns
e.id, e.source, e.event_id, e.type, e.subtype, e.api_version, e.account, e.state, e.attempts, e.object, e.effect,
  e.error,
  e.created_at, e.received_at, e.next_attempt_at, e.applied_at

-- part: wanted
from {p}.webhook_events e
where (:state::text? is null or e.state = :state::text) and (:source::text? is null or e.source = :source::text)
  and (:type::text? is null or e.type = :type::text)

-- name: webhook_events_desc :many args(webhook_events)
select {columns} {wanted} and e.id < :behind::bigint order by e.id desc limit :limit::bigint offset :offset::bigint

-- name: webhook_events_asc :many args(webhook_events)
select {columns} {wanted} and e.id > :behind::bigint order by e.id limit :limit::bigint offset :offset::bigint

-- name: webhook_events_count :one args(webhook_events)
select count(*) as total_items {wanted}

-- Without client_secret, which is meant for the payer's device only.
-- name: webhook_event_get :opt
select {columns}, e.payload::jsonb #- '{data,object,client_secret}' as payload from {p}.webhook_events e where e.id = :id::bigint

-- Resets the attempts. While the event is being applied its row is locked, and this statement waits.
-- name: webhook_event_replay :opt
update {p}.webhook_events as e
set state = 'received', attempts = 0, next_attempt_at = now(), error = null
where e.id = :id::bigint
returning {columns}
