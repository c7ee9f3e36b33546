-- An event, in the transaction of what it reports. The record and what is said of it stand last: others put SQL for both
-- (events_outbox_head).
-- part: row
insert into {p}.outbox (pending, event, entity_id, actor_id, depth, trace, root, record_id, payload)
select :pending::smallint, :event::text, :entity_id::bigint, :actor_id::bigint?, :depth::smallint, :trace::text?,
  :root::bigint?, :record_id::bigint, :payload::jsonb

-- name: outbox_add :exec args(outbox)
{row};

-- Of no entity: nobody has asked yet whether a workflow listens.
-- name: outbox_add_heard :exec args(outbox)
{row}
where exists (select 1 from {p}.workflows w where w.event = :event::text and w.enabled);
