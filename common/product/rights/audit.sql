-- name: audit_add :exec
insert into {p}.audit_log (actor_kind, actor_id, action, target, target_id, detail, request_id)
values ($1::text, $2::bigint, $3::text, $4::text, $5::text, coalesce($6::jsonb, '{}'), $7::text);
