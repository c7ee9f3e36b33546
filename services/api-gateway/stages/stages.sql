-- Statements of the stages.

-- name: session_check :opt
select s.user_id:bigint, s.revoked_at is not null or s.expires_at <= now() as ended:boolean
from {p}.sessions s
where s.id = :id::bigint

-- name: signing_key :opt
select k.doc ->> 'x' as x:text?, k.doc ->> 'y' as y:text?
from {p}.settings k
where k.kind = 'signing_key' and k.key = :key::text

-- Finds a key by its value, or by a value from before a rotation, which expires with its grace time.
-- name: api_key_find :opt
select k.id:bigint, k.user_id:bigint, k.expires_at:timestamptz?
from {p}.api_keys k
where k.hash = :hash::bytea
union all
select k.id, k.user_id, least(k.expires_at, f.ends_at)
from {p}.api_key_former f join {p}.api_keys k on k.id = f.api_key_id
where f.hash = :hash::bytea

-- name: api_key_used :exec
update {p}.api_keys set last_used_at = now()
where id = :id::bigint and expires_at > now()
  and (last_used_at is null or last_used_at < now() - interval '1 minute')

-- name: group_reachable :opt
select g.id
from {p}.groups g
where g.id = :id::bigint
  and (exists (select 1 from {p}.group_members m where m.group_id = g.id and m.user_id = :user_id::bigint)
    or exists (select 1 from {p}.group_roles r where r.group_id = g.id and r.role_id = any(:role_ids::bigint[])))

-- Writers of one resource run one after the other. This lock is the first that their transaction takes.
-- name: resource_lock :one
select l.key from {p}.resource_locks l where l.key = :key::bigint for update

-- name: realtime_ticket_add :exec
insert into {p}.live_tickets (hash, user_id, session_id, key_id, group_scope, ends_at, expires_at)
values (:hash::bytea, :user_id::bigint, :session_id::bigint, :key_id::bigint, :group_scope::bigint, :ends_at::timestamptz,
  now() + make_interval(secs => :seconds::bigint));

-- Deletes the ticket, so that it can be used only once.
-- name: realtime_ticket_use :opt
delete from {p}.live_tickets t
where t.hash = :hash::bytea and t.expires_at > now() and (t.session_id = 0 or exists (
  select 1 from {p}.sessions s where s.id = t.session_id and s.revoked_at is null and s.expires_at > now()))
returning t.user_id:bigint, t.session_id:bigint, t.key_id:bigint, t.group_scope:bigint, t.ends_at:timestamptz;
