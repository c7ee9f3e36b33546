-- Pages of the audit log. A page begins after the id `:behind`, in descending or ascending order of ids.

-- part: entry
select a.id, a.at, a.actor_kind, a.actor_id, a.action, a.target, a.target_id, a.detail, a.request_id
from {p}.audit_log a

-- part: wanted
(:actor::bigint? is null or a.actor_id = :actor::bigint?)
  and (:kind::text? is null or a.actor_kind = :kind::text?)
  and (:target::text? is null or a.target = :target::text?)
  and (:target_id::text? is null or a.target_id = :target_id::text?)
  and (:action::text? is null or a.action = :action::text?)
  and (:since::timestamptz? is null or a.at >= :since::timestamptz?)
  and (:until::timestamptz? is null or a.at < :until::timestamptz?)

-- name: audit_log_desc :many args(audit_log)
{entry} where {wanted} and a.id < :behind::bigint order by a.id desc limit :limit::bigint offset :offset::bigint

-- name: audit_log_asc :many args(audit_log)
{entry} where {wanted} and a.id > :behind::bigint order by a.id limit :limit::bigint offset :offset::bigint

-- name: audit_log_count :one args(audit_log)
select count(*) as total_items from {p}.audit_log a where {wanted}

-- name: audit_log_entry :opt
{entry} where a.id = :id::bigint
