-- Long work with progress. One that stopped reporting died with its gateway: it has failed.

-- part: task
select t.id, t.kind,
       case when t.status = 'running' and t.updated_at < now() - interval '2 minutes' then 'failed' else t.status end as status,
       t.total, t.done, t.failed, t.errors, t.created_by, t.created_at, t.updated_at, t.finished_at
from {p}.tasks t

-- name: tasks_list :page sort(id,created_at,updated_at)
{task}
where :all::boolean or t.created_by = :user_id::bigint

-- name: task_get :opt
{task}
where t.id = :id::bigint and (:all::boolean or t.created_by = :user_id::bigint)

-- name: task_add :one
insert into {p}.tasks (kind, status, created_by, doc) values (:kind::text, 'running', :created_by::bigint, :doc::jsonb)
returning id as id:bigint

-- name: task_progress :exec
update {p}.tasks t set done = :done::bigint, failed = :failed::bigint, errors = :errors::jsonb,
  updated_at = greatest(now(), t.updated_at)
where t.id = :id::bigint

-- name: task_finish :exec
update {p}.tasks t
set status = :status::text, done = :done::bigint, failed = :failed::bigint, total = :done::bigint + :failed::bigint,
  errors = :errors::jsonb,  updated_at = greatest(now(), t.updated_at), finished_at = now()
where t.id = :id::bigint
