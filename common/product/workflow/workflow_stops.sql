-- Workflows that are deleted or disabled: what they have in the queue is ended some at a time, by the gateway that is
-- asked and then by runners, which remove the mark.

-- name: stop_mark :exec
insert into {p}.workflow_stops (workflow_id, deleted) values (:workflow_id::bigint, :deleted::boolean)
on conflict (workflow_id) do update set deleted = excluded.deleted, at = now()

-- name: stop_unmark :exec
delete from {p}.workflow_stops s where s.workflow_id = :workflow_id::bigint

-- name: stop_marks :many
select s.workflow_id:bigint, s.deleted:boolean from {p}.workflow_stops s order by s.at limit 100

-- Of a workflow that is deleted all, else those that have not begun. A row that is locked is being claimed.
-- name: stop_queued :many
update {p}.jobs j
set status = case when :deleted::boolean then 'cancelled' else 'skipped' end, token = j.token + 1, finished_at = now(),
  reason = case when not :deleted::boolean then 'workflow_disabled' end
where j.id = any (array(
  select q.id from {p}.jobs q where q.status = 'queued' and q.workflow_id = :workflow_id::bigint
  and (:deleted::boolean or q.started_at is null)
  order by q.id limit 2000 for update skip locked)) and j.status = 'queued'
returning j.id:bigint

-- name: stop_running :many
with stopped as (
  update {p}.jobs j
  set status = 'cancelled', token = j.token + 1, finished_at = now(), lease_until = null, runner = null
  where j.id = any (array(
    select q.id from {p}.jobs q where q.status in ('running', 'waiting') and q.workflow_id = :workflow_id::bigint
    order by q.id limit 2000 for update skip locked)) and j.status in ('running', 'waiting')
  returning j.id),
closed as (
  update {p}.job_steps s
  set status = 'interrupted', finished_at = now(),
    error = jsonb_build_object('code', 'interrupted', 'message', 'The job was cancelled while this was under way.')
  from stopped t where s.job_id = t.id and s.status = 'sent')
select t.id:bigint from stopped t

-- name: stop_done :exec
delete from {p}.workflow_stops s where s.workflow_id = :workflow_id::bigint
  and not exists (select 1 from {p}.jobs j where j.status = 'queued' and j.workflow_id = :workflow_id::bigint
                  and (s.deleted or j.started_at is null))
  and not (s.deleted and exists (select 1 from {p}.jobs j where j.status in ('running', 'waiting')
  and j.workflow_id = :workflow_id::bigint))
