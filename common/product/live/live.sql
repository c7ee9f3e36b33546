-- The log of changes that clients listen to. Snapshots are passed as text.

-- name: live_log_created :exec
insert into {p}.live_log (entity_id, record_id, kind)
select :entity_id::bigint, c.id, 1 from unnest(:ids::bigint[]) as c (id) where c.id > 0;

-- The grantees before the change; the record's row is locked.
-- name: live_log_granted :exec
insert into {p}.live_log (entity_id, record_id, kind, grants)
values (:entity_id::bigint, :record_id::bigint, 4, array(
  select g.grantee_id * 4 + g.kind from {p}.record_grants g
  where g.entity_id = :entity_id::bigint and g.record_id = :record_id::bigint));

-- More records changed than are logged one by one.
-- name: live_log_reset :exec
insert into {p}.live_log (entity_id, record_id, kind)
select distinct e.id, 0, 5 from unnest(:entity_ids::bigint[]) as e (id);

-- A client listens: keeps the log for some time. `ready`: all processes log their changes.
-- name: live_listen :opt
update {p}.live_state s set until = greatest(s.until, now() + make_interval(secs => :seconds::bigint))
where s.id = 1 and s.until > now()
returning s.since is not null as ready:boolean;

-- name: live_begin :exec
insert into {p}.live_state as s (until) values (now() + make_interval(secs => :seconds::bigint))
on conflict (id) do update set until = greatest(s.until, excluded.until);

-- Raises the version of the model, which states whether changes are logged.
-- name: live_model_changed :exec
update {p}.meta set model_version = model_version + 1 where id = 1;

-- name: live_bounds :one
select pg_snapshot_xmax(pg_current_snapshot())::text as next:text!;

-- name: live_drained :one
select pg_snapshot_xmin(pg_current_snapshot()) >= (:next::text)::xid8 as drained:boolean!;

-- name: live_ready :exec
update {p}.live_state s set since = pg_snapshot_xmin(pg_current_snapshot()) where s.id = 1 and s.since is null;

-- A position must not claim to have seen more than is on the disk: it ends at the last transaction
-- that is in one of the logs. After a crash PostgreSQL may reuse the number of a later transaction
-- that was rolled back. A client that resumes would then miss the changes of the new transaction.

-- part: reached
coalesce(greatest(((select max(k.xid) from {p}.live_log k)::text::numeric + 1)::text::xid8,
  ((select max(u.xid) from {p}.audit_log u)::text::numeric + 1)::text::xid8, (select s.since from {p}.live_state s),
  case when pg_snapshot_xmax(a.since) <= pg_snapshot_xmax(a.now) then pg_snapshot_xmax(a.since) end), pg_snapshot_xmin(a.now))

-- part: position
concat(coalesce((select min(x.xid) from pg_snapshot_xip(b.now) as x (xid) where x.xid < b.top), b.top), ':', b.top, ':',
  (select string_agg(x.xid::text, ',' order by x.xid) from pg_snapshot_xip(b.now) as x (xid) where x.xid < b.top))

-- name: live_now :one
select {position} as now:text!
from (select a.now, {reached} as top from (select pg_current_snapshot() as now, null::pg_snapshot as since) a) b;

-- part: between
l.xid >= pg_snapshot_xmin(b.since) and not pg_visible_in_snapshot(l.xid, b.since)
    and pg_visible_in_snapshot(l.xid, coalesce(b.upto, b.now))

-- The next changes after a position and the entities that they belong to: everything that `upto`
-- (null: now) sees and `since` does not, after row `behind`. The first page is found by transaction
-- ids (both bounds let the planner see that they are few), later pages by the row where they begin.
-- name: live_window :one
with asked as materialized (
  select pg_current_snapshot() as now, (:since::text)::pg_snapshot as since, (:upto::text?)::pg_snapshot as upto),
bounds as materialized (
  select a.now, a.since, a.upto, {reached} as top from asked a),
fresh as materialized (
  select l.seq, l.entity_id
  from bounds b join {p}.live_log l on {between} and l.xid < pg_snapshot_xmax(coalesce(b.upto, b.now))
  where :behind::bigint = 0
  order by l.seq limit :most::bigint),
later as materialized (
  select l.seq, l.entity_id
  from bounds b join {p}.live_log l on {between}
  where :behind::bigint > 0 and l.seq > :behind::bigint
  order by l.seq limit :most::bigint),
found as materialized (
  select f.seq, f.entity_id from fresh f union all select l.seq, l.entity_id from later l)
select coalesce(b.upto::text, {position}) as upto:text!,
  exists (select 1 from {p}.live_state s where s.since <= pg_snapshot_xmin(b.since))
    and pg_snapshot_xmax(b.since) <= pg_snapshot_xmax(b.now) as whole:boolean!,
  (select count(*) from found f) as changes:bigint!,
  coalesce((select min(f.seq) from found f), 0) as first:bigint!,
  coalesce((select max(f.seq) from found f), 0) as last:bigint!,
  array(select distinct f.entity_id from found f) as entity_ids:bigint[]!
from bounds b;

-- Moves the beginning of the log past rows that are too old or exceed the size limit.
-- name: live_trim :exec
update {p}.live_state s set since = greatest(s.since, (gone.xid::text::numeric + 1)::text::xid8)
from (
  select max(l.xid) as xid from {p}.live_log l
  where l.xid < pg_snapshot_xmin(pg_current_snapshot())
    and (l.at < now() - make_interval(secs => :seconds::bigint) or l.seq <= (
      select max(o.seq) from (
        select k.seq, sum(64 + coalesce(pg_column_size(k.before), 0)) over (order by k.seq desc) as bytes
        from {p}.live_log k) o
      where o.bytes > :bytes::bigint))) gone
where s.id = 1 and gone.xid is not null;

-- name: live_trimmed :exec
delete from {p}.live_log l using {p}.live_state s where l.xid < s.since;

-- name: live_over :opt
select s.id:smallint from {p}.live_state s where s.id = 1 and s.until < now();

-- name: live_end :opt
delete from {p}.live_state s where s.id = 1 and s.until < now() returning s.id:smallint;

-- name: live_forget :exec
delete from {p}.live_log;

-- Projects whose sweep is due. Each is given to one process at a time. `slug` is null when the
-- project has been deleted.
-- name: live_projects_due :many
update platform.live_projects f set due_at = now() + make_interval(secs => :seconds::bigint)
from (
  select d.number from platform.live_projects d where d.due_at <= now()
  order by d.due_at limit :most::bigint for update skip locked) as due
where f.number = due.number
returning f.number as number:bigint, (select p.slug from platform.projects p where p.number = f.number and p.state = 'active') as slug:text?;

-- name: live_project_add :exec
insert into platform.live_projects (number) values (:number::bigint) on conflict (number) do nothing;

-- name: live_project_gone :exec
delete from platform.live_projects f where f.number = :number::bigint;

-- name: live_tickets_expire :exec
delete from {p}.live_tickets t where t.expires_at < now();
