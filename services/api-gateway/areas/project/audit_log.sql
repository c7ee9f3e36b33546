-- The audit log, walked along its ids.

-- part: entry
select a.id, a.at, a.actor_kind, a.actor_id, a.action, a.target, a.target_id, a.detail, a.request_id
from {p}.audit_log a

-- name: audit_log_desc :many
{entry} where a.id < :behind::bigint order by a.id desc limit :limit::bigint offset :offset::bigint

-- name: audit_log_asc :many
{entry} where a.id > :behind::bigint order by a.id limit :limit::bigint offset :offset::bigint

-- name: audit_log_count :one
select count(*) as total_items from {p}.audit_log
