-- Timed workflows.

-- name: schedule_due :many
select f.number as number, p.server as server, f.xmin::text::bigint as seen
from platform.workflow_projects f join platform.projects p on p.number = f.number
where f.next_fire_at <= now() and p.state = 'active'
  and (f.number % $1::bigint = $2::bigint or f.next_fire_at < now() - interval '3 seconds')
order by f.next_fire_at limit 5000

-- Those whose tick comes within so many milliseconds.
-- name: schedule_soon :many
select f.number as number, f.next_fire_at as next_fire_at
from platform.workflow_projects f join platform.projects p on p.number = f.number
where f.next_fire_at > now() and f.next_fire_at <= now() + $3::bigint * interval '1 millisecond' and p.state = 'active'
  and f.number % $1::bigint = $2::bigint
order by f.next_fire_at limit 5000

-- Workflows that are due by then. What is read here is not locked: schedule_tick asks whether it still holds.
-- name: schedule_look :many
select w.id as id, w.version as version, w.cron as cron, w.timezone as timezone, w.next_fire_at as next_fire_at, now() as now
from {p}.workflows w where w.next_fire_at <= now() + $1::bigint * interval '1 millisecond' and w.enabled order by w.id

-- The ticks of a project's workflows ($1..$4: those that are due, as they were read, and when they are due again), made
-- ($5, $6) and, as far as this runner has room ($7), claimed by it in one statement. A workflow that was saved since, or
-- that another runner holds or has moved on, makes nothing; where as many jobs wait as may ($10) what cannot start at once
-- is skipped. Columns as of claim_jobs, then what became of all.
-- name: schedule_tick :many
with due as (
  select w.id, w.version, n.next_ms
  from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) as n (id, version, seen, next_ms)
  join {p}.workflows w on w.id = n.id
  where w.enabled and w.version = n.version and w.next_fire_at = n.seen::timestamptz
  for no key update of w skip locked),
moved as (
  update {p}.workflows as w set next_fire_at = case when d.next_ms >= 0 then to_timestamp(d.next_ms / 1000.0) end
  from due d where w.id = d.id),
room as (
  select coalesce(l.last - l.first + 1, 0) < $10::bigint
    or (select count(*) from (select 1 from {p}.jobs q where q.status = 'queued' limit $10::bigint) c) < $10::bigint as room
  from (select (select q.id from {p}.jobs q where q.status = 'queued' order by q.id desc limit 1) as last,
               (select q.id from {p}.jobs q where q.status = 'queued' order by q.id limit 1) as first) l),
made as (
  insert into {p}.jobs as j (workflow_id, version, trigger_kind, origin, trigger_at, status, token, attempt, runner, lease_until,
    started_at, reason, finished_at)
  select t.id, t.version, 'timed', t.fire_ms / -1000, to_timestamp(t.fire_ms / 1000.0),
    case when t.starts then 'running' when t.waits then 'queued' else 'skipped' end, t.starts::int, t.starts::int,
    case when t.starts then $8::text end, case when t.starts then now() + $9::bigint * interval '1 millisecond' end,
    case when t.starts then now() end, case when not t.starts and not t.waits then 'fan_out_guard' end,
    case when not t.starts and not t.waits then now() end
  from (select d.id, d.version, f.fire_ms, f.at <= $7::bigint as starts, f.at > $7::bigint and (select r.room from room r) as waits
        from unnest($5::bigint[], $6::bigint[]) with ordinality as f (id, fire_ms, at) join due d on d.id = f.id order by f.at) t
  on conflict (workflow_id, origin) where origin is not null do nothing
  returning j.id, j.workflow_id, j.version, j.status, j.token)
select m.id as id, m.workflow_id as workflow_id, m.token as token, m.version as version, 1 as run, 1 as attempt, 0 as depth,
  false as resumed, null as resume_step, 'timed' as trigger_kind, null as trigger_event, null as trigger_entity,
  0 as trigger_id, null as trigger_data, null as trace, now() as claimed_at, null as trigger_entity_id,
  null as trigger_at, false as orphan, -m.id as root, false as disabled, false as has_data,
  a.moved as moved, a.made as made, a.queued as queued, a.next_fire_at as next_fire_at
from (select (select count(*) from due) as moved, (select count(*) from made) as made,
        (select count(*) from made q where q.status = 'queued') as queued,
        (select min(case when d.id is null then w.next_fire_at when d.next_ms >= 0 then to_timestamp(d.next_ms / 1000.0) end)
         from {p}.workflows w left join due d on d.id = w.id where w.next_fire_at is not null) as next_fire_at) a
left join made m on m.status = 'running' order by m.id

-- name: schedule_min :one
select min(w.next_fire_at) as next_fire_at from {p}.workflows w where w.next_fire_at is not null

-- A workflow that was saved while its project ticked has touched the row, even where the time stays what it is: what
-- was found then is not written, and the next poll looks again.
-- name: schedule_hints :exec
update platform.workflow_projects f
set next_fire_at = case when n.fire_ms = 0 then null else to_timestamp(n.fire_ms / 1000.0) end
from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as n (number, fire_ms, seen)
where f.number = n.number and f.xmin::text::bigint = n.seen
