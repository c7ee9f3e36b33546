-- The outbox and the workflows that listen to it.

-- name: events_claim :many
select o.id as id, o.event as event, o.entity_id as entity_id,
  case when o.event = 'PushActionTaken' or exists
    (select 1 from {p}.workflows w where w.event = o.event and w.filter is not null)
  then o.payload::text end as data,
  coalesce(pg_column_size(o.payload), 0) as bytes
from {p}.outbox o where o.pending & 1 <> 0 order by o.id limit $1::bigint for update skip locked

-- name: events_listeners :many
select w.id as id, w.version as version, w.event as event, w.entity_id as entity_id, w.category as category,
  w.filter::text as filter
from {p}.workflows w where w.event is not null and w.enabled order by w.id

-- name: events_make_jobs :exec
insert into {p}.jobs (workflow_id, version, status, reason, finished_at, trigger_kind, trigger_event, trigger_id,
  trigger_entity, trigger_entity_id, trigger_data, trigger_at, origin, actor_id, depth, trace)
select m.workflow_id, m.version,
  case when o.depth >= $4::smallint then 'skipped' else 'queued' end,
  case when o.depth >= $4::smallint then 'loop_guard' end,
  case when o.depth >= $4::smallint then now() end,
  'event', o.event, o.record_id, coalesce(e.name, o.payload ->> 'category'), nullif(o.entity_id, 0),
  o.payload, o.created_at, o.id, o.actor_id, o.depth, o.trace
from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as m (event_id, workflow_id, version)
join {p}.outbox o on o.id = m.event_id
left join {p}.entities e on e.id = o.entity_id
on conflict (workflow_id, origin) where origin is not null do nothing

-- name: events_taken :exec
update {p}.outbox set pending = (pending & ~1)::smallint,
  consumed_at = case when pending & ~1 = 0 then now() end
where id = any($1::bigint[])
