-- Requests that move money, by principal and key. Three statements in one transaction decide which request carries out
-- the work: the first claims a new key (or one older than 24 hours), the second takes over an abandoned one, the third
-- reads the key.

-- name: idem_take :opt args(idem_take) row(idem_ours)
insert into {p}.idempotency_keys as k (principal, key, request_hash, locked_until, created_at)
values (:principal::text, :key::text, :request_hash::bytea, now() + :lease_ms::bigint * interval '1 millisecond', now())
on conflict (principal, key) do update
set request_hash = excluded.request_hash, state = 'in_progress', token = k.token + 1,
  locked_until = excluded.locked_until, target = null, status = null, response = null, created_at = excluded.created_at
where k.created_at < excluded.created_at - interval '24 hours'
  and (k.state = 'done' or k.locked_until <= excluded.created_at)
returning k.token:bigint, k.target:text?, (extract(epoch from k.created_at) * 1000)::bigint as since_ms:bigint

-- name: idem_take_over :opt args(idem_take) row(idem_ours)
update {p}.idempotency_keys k
set token = k.token + 1, locked_until = now() + :lease_ms::bigint * interval '1 millisecond'
where k.principal = :principal::text and k.key = :key::text and k.request_hash = :request_hash::bytea
  and k.state = 'in_progress'
  and k.locked_until <= now()
returning k.token:bigint, k.target:text?, (extract(epoch from k.created_at) * 1000)::bigint as since_ms:bigint

-- name: idem_look :opt
select k.request_hash = :request_hash::bytea as same:boolean, k.state:text, k.status:smallint?, k.response:bytea?,
  k.target:text?,
  greatest(1, ceil(extract(epoch from k.locked_until - now())))::bigint as left_seconds:bigint
from {p}.idempotency_keys k
where k.principal = :principal::text and k.key = :key::text

-- name: idem_note :exec
update {p}.idempotency_keys k set target = :target::text
where k.principal = :principal::text and k.key = :key::text and k.token = :token::bigint and k.state = 'in_progress'

-- name: idem_keep :exec
update {p}.idempotency_keys k
set state = 'done', status = :status::bigint::smallint, response = :response::bytea?, locked_until = now()
where k.principal = :principal::text and k.key = :key::text and k.token = :token::bigint and k.state = 'in_progress'

-- name: idem_release :exec
update {p}.idempotency_keys k
set locked_until = now(), target = case when :forget::boolean then null else k.target end
where k.principal = :principal::text and k.key = :key::text and k.token = :token::bigint and k.state = 'in_progress'
