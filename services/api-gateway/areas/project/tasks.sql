-- Long-running work with progress. A running task without a report for two minutes lost its gateway process: it is shown as failed.

-- part: task
select t.id, t.kind,
       case when s.is_cut_off then 'failed' else t.status end as status,
       t.total, t.done, t.failed,
       case when not s.is_cut_off then t.errors
            else case when jsonb_array_length(t.errors) < 100 then t.errors else t.errors - 99 end
              || jsonb_build_object('row', coalesce((t.doc->>'rows')::bigint, 0) + 1, 'code', 'dependency_unavailable',
                                    'detail', 'the service was interrupted; a resumed import continues with this row')
       end as errors,
       t.created_by, t.created_at, t.updated_at, t.finished_at
from {p}.tasks t,
     lateral (select t.status = 'running' and t.updated_at < now() - interval '2 minutes' as is_cut_off) s

-- name: tasks_list :page sort(id,created_at,updated_at)
{task}
where :all::boolean or t.created_by = :user_id::bigint

-- name: task_get :opt
{task}
where t.id = :id::bigint and (:all::boolean or t.created_by = :user_id::bigint)

-- Imports. `doc` has the entity, the `run`, the number of `rows` already processed, and the digest of these rows. A request that
-- resumes the import increments `run`, so that an earlier request can no longer report.

-- name: task_add :one
insert into {p}.tasks (kind, status, created_by, doc)
values ('import', 'running', :created_by::bigint, jsonb_build_object('entity', :entity::text, 'entity_id', :entity_id::bigint,
  'run', 1, 'rows', 0, 'digest', ''))
returning id as id:bigint

-- name: task_status :opt
select t.status as status:text from {p}.tasks t
where t.id = :id::bigint and t.kind = 'import' and t.created_by = :created_by::bigint and (t.doc->>'entity_id')::bigint = :entity_id::bigint

-- Drops the error that stopped the import: its row number is above that of the rows already processed.
-- name: task_resume :opt
update {p}.tasks t
set status = 'running', total = null, finished_at = null, updated_at = greatest(now(), t.updated_at),
  doc = t.doc || jsonb_build_object('run', (t.doc->>'run')::bigint + 1),
  errors = (select coalesce(jsonb_agg(e.error order by e.place), '[]') from jsonb_array_elements(t.errors) with ordinality e (error, place)
            where (e.error->>'row')::bigint <= (t.doc->>'rows')::bigint)
where t.id = :id::bigint and t.status in ('running', 'failed')
returning t.done as done:bigint, t.failed as failed:bigint, t.errors::text as errors:text, (t.doc->>'run')::bigint as run:bigint,
  (t.doc->>'rows')::bigint as rows:bigint, t.doc->>'digest' as digest:text

-- name: task_keep_alive :exec
update {p}.tasks t set updated_at = greatest(now(), t.updated_at)
where t.id = :id::bigint and (t.doc->>'run')::bigint = :run::bigint

-- name: task_progress :opt
update {p}.tasks t set done = :done::bigint, failed = :failed::bigint, errors = :errors::jsonb,
  doc = t.doc || jsonb_build_object('rows', :rows::bigint, 'digest', :digest::text), updated_at = greatest(now(), t.updated_at)
where t.id = :id::bigint and (t.doc->>'run')::bigint = :run::bigint
returning t.id as id:bigint

-- name: task_finish :exec
update {p}.tasks t
set status = :status::text, done = :done::bigint, failed = :failed::bigint, total = :done::bigint + :failed::bigint,
  errors = :errors::jsonb, doc = t.doc || jsonb_build_object('rows', :rows::bigint, 'digest', :digest::text),
  updated_at = greatest(now(), t.updated_at), finished_at = now()
where t.id = :id::bigint and (t.doc->>'run')::bigint = :run::bigint

-- Leaves the counts of rows as they are: task_progress recorded them in the transaction that wrote the rows.
-- name: task_fail :exec
update {p}.tasks t
set status = 'failed', total = t.done + t.failed, updated_at = greatest(now(), t.updated_at), finished_at = now(),
  errors = case when jsonb_array_length(t.errors) < 100 then t.errors else t.errors - 99 end
    || jsonb_build_object('row', (t.doc->>'rows')::bigint + 1, 'code', :code::text, 'detail', :detail::text)
where t.id = :id::bigint and (t.doc->>'run')::bigint = :run::bigint
