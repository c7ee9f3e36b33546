-- Claims, renews and releases the leases of jobs. All times are this server's.

-- A job that was started before continues where it stopped. Trigger data above :bytes is read later, when the memory budget
-- allows. A row's ctid stays valid because the row is locked.
-- part: claim_head
with c as (
  update {p}.job_leases as l set state = 'running', token = l.token + 1, attempt = l.attempt + 1, runner = :holder::text,
    lease_until = now() + :lease_ms::bigint * interval '1 millisecond', started_at = coalesce(l.started_at, now())
  where l.ctid = any (array(
    select q.ctid from {p}.job_leases q where q.state = 'queued'

-- part: claim_tail
    order by q.job_id limit :most::bigint for update skip locked))
  returning l.job_id, l.token, l.attempt, l.started_at)
select j.id:bigint, j.workflow_id:bigint, c.token:bigint, j.version:integer, j.run:smallint, c.attempt:smallint,
  j.depth:smallint, (c.started_at < now() or j.run > 1) as resumed:boolean, j.resume_step:text?, j.trigger_kind:text,
  j.trigger_event:text?, j.trigger_entity:text?, j.trigger_id:bigint?,
  (select d.text from (select j.trigger_data::text as text offset 0) d where octet_length(d.text) <= :bytes::bigint)
    as trigger_data:text?,
  j.trace:text?, now() as claimed_at:timestamptz, j.trigger_entity_id:bigint?, j.trigger_at:timestamptz?,
  not exists (select 1 from {p}.workflow_versions v where v.workflow_id = j.workflow_id and v.version = j.version)
    as orphan:boolean,
  coalesce(j.root, -j.id) as root:bigint,
  c.started_at = now() and exists (select 1 from {p}.workflows w where w.id = j.workflow_id and not w.enabled)
    as disabled:boolean,
  j.trigger_data is not null as has_data:boolean
from c join {p}.jobs j on j.id = c.job_id

-- name: claim_jobs :many row(job)
{claim_head} and not q.crashed {claim_tail}

-- Claims jobs whose last runner died (work.h).
-- name: claim_crashed :many row(job)
{claim_head} and q.crashed {claim_tail}

-- Selects the rows that still carry the given tokens.
-- part: ours
l.job_id = any (:ids::bigint[]) and l.token = (:tokens::bigint[])[array_position(:ids::bigint[], l.job_id)]
and l.state in ('running', 'waiting')

-- A locked row is skipped, because its own step or a cancellation is writing it. The next renewal decides about it.
-- name: claim_renew :many
update {p}.job_leases as r set lease_until = now() + :lease_ms::bigint * interval '1 millisecond'
where r.job_id = any (array(select l.job_id from {p}.job_leases l where {ours} for no key update skip locked))
returning r.job_id as id

-- name: claim_held :many
select l.job_id as id from {p}.job_leases l where {ours}

-- Releasing a running job lowers `attempt` again, because the job did not crash its runner.
-- name: jobs_release :exec
update {p}.job_leases l set state = 'queued', token = l.token + 1, attempt = l.attempt - 1, lease_until = null, runner = null
where {ours}
