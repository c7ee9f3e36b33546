-- What jobs have done. Every statement asks for the token: a runner that was presumed dead writes nothing.

-- part: add_steps
insert into {p}.job_steps as s (job_id, seq, run, key, action, status, started_at, finished_at, input, output, error, log)
select e.job_id, e.seq, e.run, e.key, e.action, e.status, to_timestamp(e.started_ms / 1000.0),
  to_timestamp(e.finished_ms / 1000.0), e.input::jsonb, e.output::jsonb, e.error::jsonb, e.log::jsonb
from unnest(:job_ids::bigint[], :seqs::bigint[], :runs::bigint[], :keys::text[], :actions::text[], :statuses::text[], :started_ms::bigint[], :finished_ms::bigint[],
  :inputs::text[], :outputs::text[], :errors::text[], :logs::text[])
  as e (job_id, seq, run, key, action, status, started_ms, finished_ms, input, output, error, log)

-- part: or_replace
on conflict (job_id, seq) do update set run = excluded.run, key = excluded.key, action = excluded.action,
  status = excluded.status, started_at = excluded.started_at, finished_at = excluded.finished_at,
  input = excluded.input, output = excluded.output, error = excluded.error, log = excluded.log

-- Locks the rows, renews their leases, sets what is given, and adds history to those and no others. A row that carries our
-- token and the wanted end already is a repeat of a write whose answer was lost.
-- name: ledger_jobs :many
with ours as (
  update {p}.jobs as j set status = coalesce(e.status, j.status),
    token = case when e.status = 'queued' then j.token + 1 else j.token end,
    attempt = case when e.status = 'queued' then greatest(j.attempt - 1, 0) else j.attempt end,
    runner = case when e.status = 'queued' then null else j.runner end,
    lease_until = case when e.ends or e.status = 'queued' then null
      else now() + :lease_ms::bigint * interval '1 millisecond' end,
    finished_at = case when e.ends then coalesce(j.finished_at, now()) end,
    error = e.error::jsonb, reason = e.reason
  from (select u.id, u.token, u.status, u.error, u.reason, coalesce(u.status in ('succeeded', 'failed', 'skipped'), false) as ends
        from unnest(:ids::bigint[], :tokens::bigint[], :job_statuses::text[], :job_errors::text[], :reasons::text[]) as u (id, token, status, error, reason)) e
  where j.id = e.id and j.token = e.token
    and (j.status in ('running', 'waiting') or (e.ends and j.status = e.status))
  returning j.id),
written as (
  {add_steps}
  where (e.job_id in (select o.id from ours o)) is true -- a hash, where a join by index would be a loop
  {or_replace})
select o.id as id:bigint from ours o

-- Rows of a job that this transaction has locked.
-- name: ledger_steps :exec
{add_steps}
join {p}.jobs j on j.id = e.job_id and j.xmin = pg_current_xact_id()::xid
{or_replace}

-- The first statement of a step's transaction.
-- name: ledger_lock :opt
update {p}.jobs as j set lease_until = now() + :lease_ms::bigint * interval '1 millisecond'
where j.id = :id::bigint and j.token = :token::bigint and j.status in ('running', 'waiting')
returning j.id as id

-- After a commit whose answer was lost: waits for its end, then its rows are there or they are not.
-- name: ledger_wait :opt
select j.token = :token::bigint as ours:boolean from {p}.jobs j where j.id = :id::bigint for no key update

-- name: ledger_seen :opt
select s.seq as seq from {p}.job_steps s where s.job_id = :job_id::bigint and s.seq = :seq::integer
