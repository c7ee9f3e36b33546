-- Jobs started by hand and over a route: one statement each, no row when nothing enabled fits; job_id is null when the
-- project's queue is full ($9). Numbers of jobs rise: as long as the newest and the oldest one are not far apart, nothing
-- has to be counted.

-- part: start
made as (
  insert into {p}.jobs (workflow_id, version, trigger_kind, trigger_id, trigger_entity, trigger_data, actor_id, actor_key_id, depth, trace)
  select w.id, w.version, w.kind, $2::bigint, $3::text, $4::jsonb, $5::bigint, $6::bigint, $7::smallint, $8::text
  from w where {room}
  returning id)
select (select m.id from made m) as job_id, w.id as workflow_id from w

-- part: room
(select coalesce(l.last - l.first + 1, 0) < $9::bigint
   or (select count(*) from (select 1 from {p}.jobs q where q.status = 'queued' limit $9::bigint) c) < $9::bigint
 from (select (select q.id from {p}.jobs q where q.status = 'queued' order by q.id desc limit 1) as last,
              (select q.id from {p}.jobs q where q.status = 'queued' order by q.id limit 1) as first) l)

-- name: job_start_workflow :opt
with w as (select w.id, w.version, 'manual' as kind from {p}.workflows w where w.id = $1::bigint and w.enabled), {start}

-- name: job_start_route :opt
with w as (select w.id, w.version, 'api' as kind from {p}.workflows w where w.route = $1::text and w.enabled), {start}
