-- name: outbox_add :exec
insert into {p}.outbox (pending, event, entity_id, record_id, payload, actor_id, depth, trace, root)
values ($1::smallint, $2::text, $3::bigint, $4::bigint, $5::jsonb, $6::bigint, $7::smallint, $8::text, $9::bigint);

-- name: outbox_add_plain :exec
insert into {p}.outbox (pending, event, payload)
select 1, $1::text, $2::jsonb
where exists (select 1 from {p}.workflows w where w.event = $1::text and w.enabled);
