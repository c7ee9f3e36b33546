-- Writes the results of jobs. Every statement checks the token, so a runner that was presumed dead writes nothing.

-- part: add_steps
insert into {p}.job_steps as s (job_id, seq, run, key, action, status, started_at, finished_at, input, output, error, log)
select e.job_id, e.seq, e.run, e.key, e.action, e.status, to_timestamp(e.started_ms / 1000.0),
  to_timestamp(nullif(e.finished_ms, 0) / 1000.0), e.input::jsonb, e.output::jsonb, e.error::jsonb, e.log::jsonb
from unnest(:job_ids::bigint[], :seqs::bigint[], :runs::bigint[], :keys::text[], :actions::text[], :statuses::text[], :started_ms::bigint[], :finished_ms::bigint[],
  :inputs::text[], :outputs::text[], :errors::text[], :logs::text[])
  as e (job_id, seq, run, key, action, status, started_ms, finished_ms, input, output, error, log)

-- part: or_replace
on conflict (job_id, seq) do update set run = excluded.run, key = excluded.key, action = excluded.action,
  status = excluded.status, started_at = excluded.started_at, finished_at = excluded.finished_at,
  input = excluded.input, output = excluded.output, error = excluded.error, log = excluded.log

-- Finds the leases by their tokens, renews them or ends their jobs, sets the given values, and adds history to exactly these
-- jobs.
-- name: ledger_jobs :many
with given as (
  select u.id, u.token, u.status, u.error, u.reason, coalesce(u.status in ('succeeded', 'failed', 'skipped'), false) as ends
  from unnest(:ids::bigint[], :tokens::bigint[], :job_statuses::text[], :job_errors::text[], :reasons::text[]) as u (id, token, status, error, reason)),
kept as (
  update {p}.job_leases as l set state = coalesce(g.status, l.state),
    token = case when g.status = 'queued' then l.token + 1 else l.token end,
    attempt = case when g.status = 'queued' then greatest(l.attempt - 1, 0) else l.attempt end,
    runner = case when g.status = 'queued' then null else l.runner end,
    lease_until = case when g.status = 'queued' then null else now() + :lease_ms::bigint * interval '1 millisecond' end
  from given g
  where not g.ends and l.job_id = g.id and l.token = g.token and l.state in ('running', 'waiting')
  returning l.job_id),
freed as (
  delete from {p}.job_leases as l using given g
  where g.ends and l.job_id = g.id and l.token = g.token and l.state in ('running', 'waiting')
  returning l.job_id, l.token, l.attempt, l.started_at, g.status, g.error, g.reason),
ended as (
  update {p}.jobs as j set status = o.status, token = o.token, attempt = o.attempt, started_at = o.started_at, finished_at = now(),
    error = o.error::jsonb, reason = o.reason
  from freed o where j.id = o.job_id),
ours as (select k.job_id as id from kept k union all select o.job_id from freed o),
written as (
  {add_steps}
  where (e.job_id in (select o.id from ours o)) is true -- a hash, where a join by index would be a loop
  {or_replace})
select o.id as id:bigint from ours o

-- Finds jobs that an earlier write of ours, whose answer was lost, may have ended: they have our token and the status of
-- that write.
-- name: ledger_ended :many
select j.id as id:bigint from {p}.jobs j
where j.id = any (:ids::bigint[]) and j.token = (:tokens::bigint[])[array_position(:ids::bigint[], j.id)]
  and j.status = (:statuses::text[])[array_position(:ids::bigint[], j.id)]

-- Writes history of a job whose lease this transaction has locked.
-- name: ledger_steps :exec
{add_steps}
join {p}.job_leases l on l.job_id = e.job_id and l.xmin = pg_current_xact_id()::xid where l.job_id = any (:job_ids::bigint[])
{or_replace}

-- Locks and renews a job's lease: the first statement of a step's transaction.
-- name: ledger_lock :opt
update {p}.job_leases as l set lease_until = now() + :lease_ms::bigint * interval '1 millisecond'
where l.job_id = :id::bigint and l.token = :token::bigint and l.state in ('running', 'waiting')
returning l.job_id as id

-- Used after a commit whose answer was lost. The lock waits for the end of that transaction, and then its rows exist or not.
-- name: ledger_wait :opt
select l.token = :token::bigint as ours:boolean from {p}.job_leases l where l.job_id = :id::bigint for no key update

-- name: ledger_step_exists :opt
select s.seq as seq from {p}.job_steps s where s.job_id = :job_id::bigint and s.seq = :seq::integer
