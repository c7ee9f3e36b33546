-- Ends the open jobs of workflows that are deleted or disabled, in batches: the gateway ends the first batch during the
-- request, runners end the rest and then remove the mark.

-- name: stop_mark :exec
insert into {p}.workflow_stops (workflow_id, deleted) values (:workflow_id::bigint, :deleted::boolean)
on conflict (workflow_id) do update set deleted = excluded.deleted, at = now()

-- name: stop_unmark :exec
delete from {p}.workflow_stops s where s.workflow_id = :workflow_id::bigint

-- name: stop_marks :many
select s.workflow_id:bigint, s.deleted:boolean from {p}.workflow_stops s order by s.at limit 100

-- Ends all queued jobs of a deleted workflow, or the queued jobs of a disabled workflow that have not begun. A locked row
-- is being claimed.
-- name: stop_queued :many
with stopped as (
  delete from {p}.job_leases l
  where l.job_id = any (array(
    select q.job_id from {p}.job_leases q join {p}.jobs o on o.id = q.job_id
    where q.state = 'queued' and o.workflow_id = :workflow_id::bigint and (:deleted::boolean or q.started_at is null)
    order by q.job_id limit 2000 for update of q skip locked)) and l.state = 'queued'
  returning l.job_id, l.token, l.attempt, l.started_at)
update {p}.jobs j
set status = case when :deleted::boolean then 'cancelled' else 'skipped' end, token = t.token + 1, attempt = t.attempt,
  started_at = t.started_at, finished_at = now(), reason = case when not :deleted::boolean then 'workflow_disabled' end
from stopped t where j.id = t.job_id
returning j.id:bigint

-- name: stop_running :many
with stopped as (
  delete from {p}.job_leases l
  where l.job_id = any (array(
    select q.job_id from {p}.job_leases q join {p}.jobs o on o.id = q.job_id
    where q.state in ('running', 'waiting') and o.workflow_id = :workflow_id::bigint
    order by q.job_id limit 2000 for update of q skip locked)) and l.state in ('running', 'waiting')
  returning l.job_id as id, l.token, l.attempt, l.started_at),
ended as (
  update {p}.jobs j
  set status = 'cancelled', token = t.token + 1, attempt = t.attempt, started_at = t.started_at, finished_at = now()
  from stopped t where j.id = t.id),
closed as (
  update {p}.job_steps s
  set status = 'interrupted', finished_at = now(),
    error = jsonb_build_object('code', 'interrupted', 'message', 'The job was cancelled while this was under way.')
  from stopped t where s.job_id = t.id and s.status = 'sent')
select t.id:bigint from stopped t

-- name: stop_done :exec
delete from {p}.workflow_stops s where s.workflow_id = :workflow_id::bigint
  and not exists (select 1 from {p}.job_leases l join {p}.jobs j on j.id = l.job_id
                  where j.workflow_id = :workflow_id::bigint and (s.deleted or (l.state = 'queued' and l.started_at is null)))
