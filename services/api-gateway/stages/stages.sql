-- What the stages ask the database.

-- name: session_check :opt
select s.user_id, s.revoked_at is not null or s.expires_at <= now() as ended
from {p}.sessions s
where s.id = $1::bigint

-- name: signing_key :opt
select k.doc ->> 'x' as x, k.doc ->> 'y' as y
from {p}.settings k
where k.kind = 'signing_key' and k.key = $1::text

-- name: api_key_find :opt
select k.id, k.user_id, k.expires_at
from {p}.api_keys k
where k.hash = $1::bytea

-- name: api_key_used :exec
update {p}.api_keys set last_used_at = now()
where id = $1::bigint and expires_at > now()
  and (last_used_at is null or last_used_at < now() - interval '1 minute')

-- name: group_reachable :opt
select g.id
from {p}.groups g
where g.id = $1::bigint
  and (exists (select 1 from {p}.group_members m where m.group_id = g.id and m.user_id = $2::bigint)
    or exists (select 1 from {p}.group_roles r where r.group_id = g.id and r.role_id = any($3::bigint[])))

-- Writers of one resource come one after the other; the lock is the first that their transaction takes.
-- name: resource_lock :one
select l.key from {p}.resource_locks l where l.key = $1::bigint for update
