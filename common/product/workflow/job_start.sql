-- Starts a job by hand or over a route, with one statement. There is no row when no enabled workflow matches. job_id is
-- null when the project's queue is full. Job ids only rise: when all open jobs are among the newest :queued_max - 1 ids,
-- the queue cannot be full, and nothing has to be counted.

-- part: start
made as (
  insert into {p}.jobs (workflow_id, version, trigger_kind, trigger_id, trigger_entity, trigger_data, actor_id,
  actor_key_id, depth, trace)
  select w.id, w.version, w.kind, :trigger_id::bigint, :trigger_entity::text?, :trigger_data::jsonb,
  :actor_id::bigint?, :actor_key_id::bigint?, :depth::smallint, :trace::text?
  from w where {room}
  returning id),
leased as (
  insert into {p}.job_leases (job_id) select m.id from made m)
select (select m.id from made m) as job_id:bigint?, w.id as workflow_id:bigint from w

-- part: room
((select l.job_id from {p}.job_leases l
   where l.job_id <= (select j.id from {p}.jobs j order by j.id desc limit 1) - :queued_max::bigint + 1
   order by l.job_id limit 1) is null
  or (select count(*) from (select 1 from {p}.job_leases q where q.state = 'queued' limit :queued_max::bigint) c) < :queued_max::bigint)

-- name: job_start_workflow :opt args(job_start) row(job_start)
with w as (select w.id, w.version, 'manual' as kind from {p}.workflows w
  where w.id = :id::bigint and :route::text? is null and w.enabled),
  {start}

-- name: job_start_route :opt args(job_start) row(job_start)
with w as (select w.id, w.version, 'api' as kind from {p}.workflows w
  where w.route = :route::text? and :id::bigint = 0 and w.enabled),
  {start}
