-- name: outbox_add :exec
insert into {p}.outbox (pending, event, entity_id, record_id, payload, actor_id, depth, trace, root)
values (:pending::smallint, :event::text, :entity_id::bigint, :record_id::bigint, :payload::jsonb, :actor_id::bigint?,
  :depth::smallint, :trace::text?, :root::bigint?);

-- name: outbox_add_plain :exec
insert into {p}.outbox (pending, event, payload)
select 1, :event::text, :payload::jsonb
where exists (select 1 from {p}.workflows w where w.event = :event::text and w.enabled);
