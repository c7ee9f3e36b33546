-- Finds work without a notification, and recovers the work of dead runners.

-- name: runner_alive :exec
insert into platform.runners as r (id) values (:holder::text)
on conflict (id) do update set seen_at = now()

-- A killed runner keeps its share of the projects for five seconds.
-- name: runners_live :many
select r.id as id from platform.runners r where r.seen_at > now() - interval '5 seconds' order by r.id

-- Recorded before a runner has two jobs at a time.
-- name: runner_shared :exec
insert into platform.runners as r (id, shared) values (:holder::text, true) on conflict (id) do update set shared = true

-- name: runners_alone :many
select r.id as id from platform.runners r where r.id = any(:holders::text[]) and not r.shared

-- name: runners_forget :exec
delete from platform.runners r where r.seen_at < now() - interval '1 hour'

-- name: runner_gone :exec
delete from platform.runners r where r.id = :holder::text

-- name: sweep_projects :many
select f.number:bigint, p.server:text, f.next_fire_at:timestamptz?, f.xmin::text::bigint as seen:bigint
from platform.workflow_projects f join platform.projects p on p.number = f.number
where p.state = 'active' order by f.number

-- name: crashed_put :exec
insert into platform.crashed_projects (number) values (:number::bigint) on conflict (number) do nothing

-- The sweep of a project inserts the row again when the project still has crashed jobs.
-- name: crashed_take :many
delete from platform.crashed_projects s using platform.projects p where p.number = s.number and p.state = 'active' returning s.number as number

-- name: sweep_poll :one
select exists (select 1 from {p}.outbox o where o.pending & 1 <> 0) as events:boolean,
  exists (select 1 from {p}.workflow_stops) as stops:boolean,
  exists (select 1 from {p}.job_leases l where l.state = 'queued' and not l.crashed) as due:boolean,
  exists (select 1 from {p}.job_leases l where l.state = 'queued' and l.crashed) as crashed:boolean,
  exists (select 1 from {p}.job_leases l where l.lease_until < now()) as expired:boolean,
  (select min(w.next_fire_at) from {p}.workflows w where w.next_fire_at is not null) as next_fire_at:timestamptz?

-- name: sweep_holders :many
select distinct l.runner as runner from {p}.job_leases l where l.lease_until < now() and l.runner is not null limit 1000

-- part: alone
(e.crashed or coalesce(e.runner = any(:alone::text[]), false))

-- Takes jobs from runners that died. They return to the queue as crashed jobs, which run alone. The attempt does not count when
-- other jobs may have been the cause, that is, when the job was not run alone as a crashed job and its runner is not one of
-- :alone. A job that has crashed too many runners is not queued again but ends as quarantined, and its `sent` steps become
-- interrupted.
-- name: sweep_rescue :many
with expired as (
  select e.job_id, {alone} and e.attempt >= :attempts::smallint as gone
  from {p}.job_leases e
  where e.lease_until < now()
  order by e.job_id limit 500 for update of e skip locked),
rescued as (
  update {p}.job_leases e set state = 'queued', token = e.token + 1, lease_until = null, runner = null, crashed = true,
    attempt = case when {alone} then e.attempt else greatest(e.attempt - 1, 0) end
  where e.job_id = any (array(select x.job_id from expired x where not x.gone))
  returning e.job_id, e.attempt),
freed as (
  delete from {p}.job_leases l where l.job_id = any (array(select x.job_id from expired x where x.gone))
  returning l.job_id, l.token, l.attempt, l.started_at),
quarantined as (
  update {p}.jobs j set status = 'failed', token = o.token + 1, attempt = o.attempt, started_at = o.started_at, finished_at = now(),
    error = jsonb_build_object('step_key', null, 'code', 'quarantined', 'status_code', null,
      'message', 'The job was quarantined: ' || o.attempt || ' of its runners crashed.')
  from freed o where j.id = o.job_id),
closed as (
  update {p}.job_steps s set status = 'interrupted', finished_at = now(),
    error = jsonb_build_object('code', 'interrupted', 'message', 'The job''s last runner ended while this was under way.')
  from freed o where s.job_id = o.job_id and s.status = 'sent')
select r.job_id as id, false as quarantined, r.attempt as attempt from rescued r
union all select o.job_id, true, o.attempt from freed o

-- Skipped when the row was written since the sweep read it, because the found value may be older.
-- name: sweep_fire_hint :exec
update platform.workflow_projects set next_fire_at = :next_fire_at::timestamptz?
where number = :number::bigint and xmin::text::bigint = :seen::bigint

