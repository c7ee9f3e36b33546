-- Timed workflows.

-- name: schedule_due :many
select f.number:bigint, p.server:text, f.xmin::text::bigint as seen:bigint
from platform.workflow_projects f join platform.projects p on p.number = f.number
where f.next_fire_at <= now() and p.state = 'active'
  and (f.number % :count::bigint = :index::bigint or f.next_fire_at < now() - interval '3 seconds')
order by f.next_fire_at limit 5000

-- Projects whose next tick comes within :ahead_ms milliseconds.
-- name: schedule_soon :many
select f.number:bigint, f.next_fire_at:timestamptz!
from platform.workflow_projects f join platform.projects p on p.number = f.number
where f.next_fire_at > now() and f.next_fire_at <= now() + :ahead_ms::bigint * interval '1 millisecond' and p.state = 'active'
  and f.number % :count::bigint = :index::bigint
order by f.next_fire_at limit 5000

-- Workflows that are due within :ahead_ms. Their rows are not locked: schedule_tick checks whether the values still hold.
-- name: schedule_read_due :many
select w.id:bigint, w.version:integer, w.cron:text!, w.timezone:text!, w.next_fire_at:timestamptz!,
  w.next_fire_at::text as seen:text, now() as now:timestamptz,
  coalesce((select v.doc #>> '{trigger,run_late}' = 'skip' from {p}.workflow_versions v
    where v.workflow_id = w.id and v.version = w.version), false) as skips_late:boolean!
from {p}.workflows w where w.next_fire_at <= now() + :ahead_ms::bigint * interval '1 millisecond' and w.enabled order by w.id

-- Makes the jobs of ticks (:fire_ids, :fires; where :skips is 1, the job is skipped as late) and moves the workflows to
-- their next ticks. :ids to :nexts describe the workflows that are due: id, version, next_fire_at as it was read, and the
-- next tick. As far as this runner has :room, the statement also claims the jobs for it. A workflow makes no job when it was
-- saved since, when another runner holds its row, or when another runner has already moved it. When the queue is full, a job
-- that cannot start at once is skipped. Returns a row for each claimed job, and at least one row; each row has the totals.
-- name: schedule_tick :many
with due as (
  select w.id, w.version, n.next_ms
  from unnest(:ids::bigint[], :versions::bigint[], :seen::text[], :nexts::bigint[]) as n (id, version, seen, next_ms)
  join {p}.workflows w on w.id = n.id
  where w.enabled and w.version = n.version and w.next_fire_at = n.seen::timestamptz
  for no key update of w skip locked),
moved as (
  update {p}.workflows as w set next_fire_at = case when d.next_ms >= 0 then to_timestamp(d.next_ms / 1000.0) end
  from due d where w.id = d.id),
room as (
  select (select l.job_id from {p}.job_leases l
      where l.job_id <= (select j.id from {p}.jobs j order by j.id desc limit 1) - :queued_max::bigint + 1
      order by l.job_id limit 1) is null
    or (select count(*) from (select 1 from {p}.job_leases q where q.state = 'queued' limit :queued_max::bigint) c) < :queued_max::bigint as room),
fired as (
  select d.id, d.version, f.fire_ms, f.fire_ms / -1000 as origin, f.at, f.skip = 0 and f.at <= :room::bigint as starts,
    case when f.skip = 1 then 'late' when f.at > :room::bigint and not (select r.room from room r) then 'fan_out_guard' end as refused
  from unnest(:fire_ids::bigint[], :fires::bigint[], :skips::bigint[]) with ordinality as f (id, fire_ms, skip, at) join due d on d.id = f.id),
made as (
  insert into {p}.jobs as j (workflow_id, version, trigger_kind, origin, trigger_at, status, reason, finished_at)
  select t.id, t.version, 'timed', t.origin, to_timestamp(t.fire_ms / 1000.0), case when t.refused is not null then 'skipped' end,
    t.refused, case when t.refused is not null then now() end
  from fired t order by t.at
  on conflict (workflow_id, origin) where origin is not null do nothing
  returning j.id, j.workflow_id, j.version, j.origin, j.trigger_at),
leased as (
  insert into {p}.job_leases as l (job_id, state, token, attempt, runner, lease_until, started_at)
  select m.id, case when t.starts then 'running' else 'queued' end, t.starts::int, t.starts::int,
    case when t.starts then :holder::text end, case when t.starts then now() + :lease_ms::bigint * interval '1 millisecond' end,
    case when t.starts then now() end
  from made m join fired t on t.id = m.workflow_id and t.origin = m.origin where t.refused is null
  returning l.job_id, l.state, l.token)
select m.id as id:bigint?, m.workflow_id as workflow_id:bigint?, m.token as token:bigint?, m.version as version:integer?,
  now() as claimed_at:timestamptz, a.moved as moved:bigint, a.made as made:bigint, a.queued as queued:bigint,
  a.next_fire_at as next_fire_at:timestamptz?, m.trigger_at as trigger_at:timestamptz?
from (select (select count(*) from due) as moved, (select count(*) from made) as made,
        (select count(*) from leased q where q.state = 'queued') as queued,
        (select min(case when d.id is null then w.next_fire_at when d.next_ms >= 0 then to_timestamp(d.next_ms / 1000.0) end)
         from {p}.workflows w left join due d on d.id = w.id where w.next_fire_at is not null) as next_fire_at) a
left join (select o.id, o.workflow_id, o.version, o.trigger_at, l.token from leased l join made o on o.id = l.job_id where l.state = 'running') m on true
order by m.id

-- name: schedule_min :one
select min(w.next_fire_at) as next_fire_at:timestamptz? from {p}.workflows w where w.next_fire_at is not null

-- Stores the next ticks of projects. A workflow that was saved while its project ticked has changed the project's row, even
-- when the time is the same: then the value that was read is not stored, and the next poll reads again. Rows are locked in
-- the order of their keys, as in every statement that writes several of them.
-- name: schedule_hints :exec
with held as materialized (
  select f.number, n.fire_ms
  from unnest(:numbers::bigint[], :fires::bigint[], :seen::bigint[]) as n (number, fire_ms, seen)
  join platform.workflow_projects f on f.number = n.number
  where f.xmin::text::bigint = n.seen order by f.number for no key update of f)
update platform.workflow_projects f
set next_fire_at = case when h.fire_ms = 0 then null else to_timestamp(h.fire_ms / 1000.0) end
from held h where f.number = h.number
