-- Inserts an event in the transaction of the change that it reports. record_id and payload are last, because other
-- statements replace them by SQL of their own (events_outbox_head).
-- part: row
insert into {p}.outbox (pending, event, entity_id, actor_id, depth, trace, root, record_id, payload)
select :pending::smallint, :event::text, :entity_id::bigint, :actor_id::bigint?, :depth::smallint, :trace::text?,
  :root::bigint?, :record_id::bigint, :payload::jsonb

-- name: outbox_add :exec args(outbox)
{row};

-- For an event without an entity, inserts only if an enabled workflow listens.
-- name: outbox_add_heard :exec args(outbox)
{row}
where exists (select 1 from {p}.workflows w where w.event = :event::text and w.enabled);

-- Rows for the search index only: the indexer reads the records itself.
-- name: outbox_add_changed :exec
insert into {p}.outbox (pending, event, entity_id, record_id, payload)
select 2, :event::text, :entity_id::bigint, c.id, '{}' from unnest(:ids::bigint[]) as c (id);

-- A user, group or role was deleted, and with it the grants to it.
-- name: search_principal_gone :exec
insert into {p}.search_work (kind, term) values ('principal', :term::text);

-- Changes of records that have no outbox row each. A check under way may already have read the records, so always insert; a
-- check that begins takes all waiting checks of its entity.
-- name: search_check :exec
insert into {p}.search_work (kind, entity_id) select 'check', w.id from unnest(:entity_ids::bigint[]) as w (id);
