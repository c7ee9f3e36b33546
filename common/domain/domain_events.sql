-- name: outbox_add :exec
insert into {p}.outbox (event_uid, event, entity_id, record_id, payload, actor_id, depth)
values ($1::uuid, $2::text, $3::bigint, $4::bigint, $5::jsonb, $6::bigint, $7::smallint);
