-- name: audit_log_list :page sort(id,at,action)
select a.id, a.at, a.actor_kind, a.actor_id, a.action, a.target, a.target_id, a.detail, a.request_id
from {p}.audit_log a
