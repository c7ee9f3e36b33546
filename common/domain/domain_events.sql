-- name: outbox_add :exec
insert into {p}.outbox (pending, event, entity_id, record_id, payload, actor_id, depth, trace)
values ($1::smallint, $2::text, $3::bigint, $4::bigint, $5::jsonb, $6::bigint, $7::smallint, $8::text);
