-- Stores received events.

-- An event of an unsupported type is stored without a next attempt, because there is nothing to apply.
-- name: event_store :exec
insert into {p}.webhook_events (source, event_id, type, subtype, api_version, account, created_at, payload, state, next_attempt_at)
values (:source::text, :event_id::text, :type::text, :subtype::text?, :api_version::text?, :account::text?,
  :created_at::timestamptz, :payload::text,
  case when :supported::boolean then 'received' else 'unsupported' end, case when :supported::boolean then now() end)
on conflict (source, event_id) do nothing
