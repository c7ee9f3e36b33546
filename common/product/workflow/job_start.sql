-- Jobs started by hand and over a route: one statement each, no row when nothing enabled fits; job_id is null when the
-- project's queue is full. Numbers of jobs rise: as long as the newest and the oldest one are not far apart, nothing
-- has to be counted.

-- part: start
made as (
  insert into {p}.jobs (workflow_id, version, trigger_kind, trigger_id, trigger_entity, trigger_data, actor_id,
  actor_key_id, depth, trace)
  select w.id, w.version, w.kind, :trigger_id::bigint, :trigger_entity::text?, :trigger_data::jsonb,
  :actor_id::bigint?, :actor_key_id::bigint?, :depth::smallint, :trace::text?
  from w where {room}
  returning id)
select (select m.id from made m) as job_id:bigint?, w.id as workflow_id:bigint from w

-- part: room
(select coalesce(l.last - l.first + 1, 0) < :queued_max::bigint
   or (select count(*) from (select 1 from {p}.jobs q where q.status = 'queued' limit :queued_max::bigint) c) < :queued_max::bigint
 from (select (select q.id from {p}.jobs q where q.status = 'queued' order by q.id desc limit 1) as last,
              (select q.id from {p}.jobs q where q.status = 'queued' order by q.id limit 1) as first) l)

-- name: job_start_workflow :opt row(job_start)
with w as (select w.id, w.version, 'manual' as kind from {p}.workflows w where w.id = :id::bigint and w.enabled),
  {start}

-- name: job_start_route :opt row(job_start)
with w as (select w.id, w.version, 'api' as kind from {p}.workflows w where w.route = :route::text and w.enabled),
  {start}
