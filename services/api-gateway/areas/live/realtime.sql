-- What streams of changes ask for beside the log.

-- name: realtime_now :one
select pg_current_snapshot()::text as now:text!;

-- Of these sessions those that are alive, and whose.
-- name: realtime_sessions :many
select s.id:bigint, s.user_id:bigint from {p}.sessions s
where s.id = any(:ids::bigint[]) and s.revoked_at is null and s.expires_at > now();

-- name: realtime_reachable :opt
select g.id:bigint from {p}.groups g
where g.id = :id::bigint
  and (exists (select 1 from {p}.group_members m where m.group_id = g.id and m.user_id = :user_id::bigint)
    or exists (select 1 from {p}.group_roles r where r.group_id = g.id and r.role_id = any(:role_ids::bigint[])));

-- name: realtime_ticket_add :exec
insert into {p}.live_tickets (hash, user_id, session_id, key_id, group_scope, ends_at, expires_at)
values (:hash::bytea, :user_id::bigint, :session_id::bigint, :key_id::bigint, :group_scope::bigint, :ends_at::timestamptz,
  now() + make_interval(secs => :seconds::bigint));

-- Once: whoever comes second finds nothing.
-- name: realtime_ticket_take :opt
delete from {p}.live_tickets t
where t.hash = :hash::bytea and t.expires_at > now() and (t.session_id = 0 or exists (
  select 1 from {p}.sessions s where s.id = t.session_id and s.revoked_at is null and s.expires_at > now()))
returning t.user_id:bigint, t.session_id:bigint, t.key_id:bigint, t.group_scope:bigint, t.ends_at:timestamptz;
