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

-- Records that the search index has to look at: it reads them itself.
-- name: outbox_add_changed :exec
insert into {p}.outbox (pending, event, entity_id, record_id, payload)
select 2, :event::text, :entity_id::bigint, c.id, '{}' from unnest(:ids::bigint[]) as c (id);

-- A principal is gone, and with it what was granted to it.
-- name: search_principal_gone :exec
insert into {p}.search_work (kind, term) values ('principal', :term::text);

-- Records of entities that changed without a row each. Another check may have read them already: whoever begins one takes those that wait.
-- name: search_check :exec
insert into {p}.search_work (kind, entity_id) select 'check', w.id from unnest(:entity_ids::bigint[]) as w (id);
