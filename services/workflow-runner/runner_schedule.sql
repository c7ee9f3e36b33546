-- Timed workflows.

-- name: schedule_due :many
select f.number as number, p.server as server, f.xmin::text::bigint as seen
from platform.workflow_projects f join platform.projects p on p.number = f.number
where f.next_fire_at <= now() and p.state = 'active'
  and (f.number % $1::bigint = $2::bigint or f.next_fire_at < now() - interval '3 seconds')
order by f.next_fire_at limit 5000

-- name: schedule_claim :many
select w.id as id, w.version as version, w.cron as cron, w.timezone as timezone, w.next_fire_at as next_fire_at, now() as now
from {p}.workflows w where w.next_fire_at <= now() and w.enabled order by w.id for update skip locked

-- name: schedule_make_jobs :exec
insert into {p}.jobs (workflow_id, version, trigger_kind, fire_at)
select t.workflow_id, t.version, 'timed', to_timestamp(t.fire_ms / 1000.0)
from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as t (workflow_id, version, fire_ms)
on conflict (workflow_id, fire_at) where fire_at is not null do nothing

-- name: schedule_next :exec
update {p}.workflows w set next_fire_at = case when n.fire_ms < 0 then null else to_timestamp(n.fire_ms / 1000.0) end
from unnest($1::bigint[], $2::bigint[]) as n (id, fire_ms) where w.id = n.id

-- name: schedule_min :one
select min(w.next_fire_at) as next_fire_at from {p}.workflows w where w.next_fire_at is not null

-- A workflow that was saved while its project ticked has touched the row, even where the time stays what it is: what
-- was found then is not written, and the next poll looks again.
-- name: schedule_hints :exec
update platform.workflow_projects f
set next_fire_at = case when n.fire_ms = 0 then null else to_timestamp(n.fire_ms / 1000.0) end
from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as n (number, fire_ms, seen)
where f.number = n.number and f.xmin::text::bigint = n.seen
