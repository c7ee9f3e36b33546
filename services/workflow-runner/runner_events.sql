-- The outbox, and the workflows that listen to its events.

-- Claims events with at most :bytes of text of payloads that must be read, and at least one event. `found`: how many events
-- could have been taken. A payload that is small in its stored form is not measured.
-- name: events_claim :many
with locked as materialized (
  select o.id, o.event, o.entity_id, o.payload, o.depth, coalesce(pg_column_size(o.payload), 0) as bytes,
    o.event = 'PushActionTaken' or exists
      (select 1 from {p}.workflows w where w.event = o.event and w.filter is not null) as read
  from {p}.outbox o where o.pending & 1 <> 0 order by o.id limit :most::bigint for update skip locked),
measured as (
  select l.*, case when l.read and l.bytes > 700 then octet_length(l.payload::text) else 0 end as length from locked l),
summed as (
  select m.*, sum(m.length) over (order by m.id) as sum, count(*) over () as found from measured m)
select s.id as id:bigint, s.event as event:text, s.entity_id as entity_id:bigint?,
  case when s.read then s.payload::text end as data:text?, s.bytes as bytes:integer, s.depth as depth:smallint,
  s.found as found:bigint
from summed s where s.sum = s.length or s.sum <= :bytes::bigint order by s.id

-- How many more jobs the project may queue, at most :most. Ids of jobs rise: while no open job is far older than the newest
-- one, there cannot be many open jobs, and counting them is unnecessary.
-- name: events_room :one
select case when (select l.job_id from {p}.job_leases l
    where l.job_id <= (select j.id from {p}.jobs j order by j.id desc limit 1) - :limit::bigint + :most::bigint
    order by l.job_id limit 1) is null then :most::bigint
  else :limit::bigint - (select count(*) from (select 1 from {p}.job_leases l where l.state = 'queued' limit :limit::bigint) q)
  end as room:bigint

-- name: events_listeners :many
select w.id:bigint, w.version:integer, w.event:text!, w.entity_id:bigint?, w.category:text?, w.filter::text as filter:text?
from {p}.workflows w where w.event is not null and w.enabled order by w.id

-- Reads each event by its key, no matter what the statistics say about the table.
-- part: event
(select * from {p}.outbox b where b.id = m.event_id offset 0)

-- Makes jobs of events that no job has caused (for other events: events_make_guarded). The affected rows are the queued jobs.
-- name: events_make_jobs :exec
with made as (
  insert into {p}.jobs (workflow_id, version, trigger_kind, trigger_event, trigger_id, trigger_entity, trigger_entity_id,
    trigger_data, trigger_at, origin, actor_id, depth, trace, root)
  select m.workflow_id, m.version, 'event', o.event, o.record_id, coalesce(e.name, o.payload ->> 'category'),
    nullif(o.entity_id, 0), o.payload, o.created_at, o.id, o.actor_id, o.depth, o.trace, coalesce(o.root, o.id)
  from unnest(:event_ids::bigint[], :workflow_ids::bigint[], :versions::bigint[]) as m (event_id, workflow_id, version)
  cross join lateral {event} o
  left join {p}.entities e on e.id = o.entity_id
  on conflict (workflow_id, origin) where origin is not null do nothing
  returning id)
insert into {p}.job_leases (job_id) select m.id from made m

-- Makes jobs where a chain of events may have made too many (:chain_max at most) or the queue may be full (:room is left).
-- Beyond these limits one job per workflow is stored, skipped as fan_out_guard. Jobs of events :depth_max deep are all
-- stored, skipped as loop_guard. Returns how many jobs were queued, how many were guarded, and one of the guarded workflows.
-- name: events_make_guarded :one
with m as (
  select m.workflow_id, m.version, m.at, o.id as origin, o.event, o.entity_id, o.record_id, o.payload, o.created_at, o.actor_id,
    o.depth, o.trace, coalesce(o.root, o.id) as root, o.depth >= :depth_max::smallint as loops
  from unnest(:event_ids::bigint[], :workflow_ids::bigint[], :versions::bigint[]) with ordinality as m (event_id, workflow_id, version, at)
  cross join lateral {event} o),
spent as (
  insert into {p}.fan_out as f (root, jobs)
  select m.root, count(*) from m where m.depth > 0 and not m.loops group by m.root order by m.root
  on conflict (root) do update set jobs = f.jobs + excluded.jobs, at = now()
  returning f.root, f.jobs),
numbered as (
  select m.*, s.jobs - count(*) over (partition by m.root, m.loops, m.depth > 0)
    + row_number() over (partition by m.root, m.loops, m.depth > 0 order by m.at) as place
  from m left join spent s on s.root = m.root),
judged as (
  select n.*, case when n.loops then 'loop_guard' when n.depth > 0 and n.place > :chain_max::bigint then 'fan_out_guard' end as reason
  from numbered n),
fitted as (
  select j.*, case when j.reason is not null then j.reason
    when row_number() over (partition by j.reason order by j.at) > :room::bigint then 'fan_out_guard' end as why
  from judged j),
ranked as (
  select f.*, row_number() over (partition by f.workflow_id, f.why order by f.at) as nth from fitted f),
made as (
  insert into {p}.jobs (workflow_id, version, status, reason, finished_at, trigger_kind, trigger_event, trigger_id,
    trigger_entity, trigger_entity_id, trigger_data, trigger_at, origin, actor_id, depth, trace, root)
  select t.workflow_id, t.version, case when t.why is not null then 'skipped' end, t.why,
    case when t.why is not null then now() end, 'event', t.event, t.record_id, coalesce(e.name, t.payload ->> 'category'),
    nullif(t.entity_id, 0), t.payload, t.created_at, t.origin, t.actor_id, t.depth, t.trace, t.root
  from ranked t left join {p}.entities e on e.id = t.entity_id
  where t.why is distinct from 'fan_out_guard' or t.nth = 1
  on conflict (workflow_id, origin) where origin is not null do nothing
  returning id, status),
leased as (
  insert into {p}.job_leases (job_id) select m.id from made m where m.status is null returning job_id)
select (select count(*) from leased) as made:bigint,
  (select count(*) from ranked t where t.why = 'fan_out_guard') as guarded:bigint,
  (select min(t.workflow_id) from ranked t where t.why = 'fan_out_guard') as workflow_id:bigint?

-- name: events_taken :exec
update {p}.outbox set pending = (pending & ~1)::smallint,
  consumed_at = case when pending & ~1 = 0 then now() end
where id = any(:ids::bigint[])
