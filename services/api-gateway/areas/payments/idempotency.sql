-- Requests that move money, by who sent them and their key. Three statements of one transaction answer "whose turn is
-- it": a new key (or one of more than 24 hours ago) is taken, an abandoned one taken over, else it is looked at.

-- name: idem_take :opt
insert into {p}.idempotency_keys as k (principal, key, request_hash, locked_until, created_at)
values ($1::text, $2::text, $3::bytea, now() + $4::bigint * interval '1 millisecond', now())
on conflict (principal, key) do update
set request_hash = excluded.request_hash, state = 'in_progress', token = k.token + 1,
  locked_until = excluded.locked_until, target = null, status = null, response = null, created_at = excluded.created_at
where k.created_at < excluded.created_at - interval '24 hours'
  and (k.state = 'done' or k.locked_until <= excluded.created_at)
returning k.token, k.target, (extract(epoch from k.created_at) * 1000)::bigint as since_ms

-- name: idem_take_over :opt
update {p}.idempotency_keys k
set token = k.token + 1, locked_until = now() + $4::bigint * interval '1 millisecond'
where k.principal = $1::text and k.key = $2::text and k.request_hash = $3::bytea and k.state = 'in_progress'
  and k.locked_until <= now()
returning k.token, k.target, (extract(epoch from k.created_at) * 1000)::bigint as since_ms

-- name: idem_look :opt
select k.request_hash = $3::bytea as same, k.state, k.status, k.response, k.target,
  greatest(1, ceil(extract(epoch from k.locked_until - now())))::bigint as left_seconds
from {p}.idempotency_keys k
where k.principal = $1::text and k.key = $2::text

-- name: idem_note :exec
update {p}.idempotency_keys k set target = $4::text
where k.principal = $1::text and k.key = $2::text and k.token = $3::bigint and k.state = 'in_progress'

-- name: idem_keep :exec
update {p}.idempotency_keys k
set state = 'done', status = $4::bigint::smallint, response = $5::bytea, locked_until = now()
where k.principal = $1::text and k.key = $2::text and k.token = $3::bigint and k.state = 'in_progress'

-- name: idem_release :exec
update {p}.idempotency_keys k
set locked_until = now(), target = case when $4::boolean then null else k.target end
where k.principal = $1::text and k.key = $2::text and k.token = $3::bigint and k.state = 'in_progress'
