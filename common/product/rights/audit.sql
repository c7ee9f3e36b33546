-- name: audit_add :exec
insert into {p}.audit_log (actor_kind, actor_id, action, target, target_id, detail, request_id)
values (:actor_kind::text, :actor_id::bigint?, :action::text, :target::text, :target_id::text?,
  coalesce(:detail::jsonb?, '{}'), :request_id::text?);
