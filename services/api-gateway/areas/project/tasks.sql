-- Long work with progress. One that stopped reporting died with its gateway: it has failed.

-- part: task
select t.id, t.kind,
       case when t.status = 'running' and t.updated_at < now() - interval '2 minutes' then 'failed' else t.status end as status,
       t.total, t.done, t.failed, t.errors, t.created_by, t.created_at, t.updated_at, t.finished_at
from {p}.tasks t

-- name: tasks_list :page sort(id,created_at,updated_at)
{task}
where $2::boolean or t.created_by = $1::bigint

-- name: task_get :opt
{task}
where t.id = $3::bigint and ($2::boolean or t.created_by = $1::bigint)

-- name: task_add :one
insert into {p}.tasks (kind, status, created_by, doc) values ($1::text, 'running', $2::bigint, $3::jsonb) returning id

-- name: task_progress :exec
update {p}.tasks t set done = $2::bigint, failed = $3::bigint, errors = $4::jsonb, updated_at = greatest(now(), t.updated_at)
where t.id = $1::bigint

-- name: task_finish :exec
update {p}.tasks t
set status = $2::text, done = $3::bigint, failed = $4::bigint, total = $3::bigint + $4::bigint, errors = $5::jsonb,
    updated_at = greatest(now(), t.updated_at), finished_at = now()
where t.id = $1::bigint
