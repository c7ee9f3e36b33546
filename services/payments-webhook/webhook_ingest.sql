-- Events that were received.

-- What is not supported has nothing left to do.
-- name: event_store :exec
insert into {p}.webhook_events (source, event_id, type, subtype, api_version, account, created_at, payload, state, next_attempt_at)
values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::timestamptz, $8::text,
  case when $9::boolean then 'received' else 'unsupported' end, case when $9::boolean then now() end)
on conflict (source, event_id) do nothing
