-- Jobs change hands. All times are this server's.

-- Rows are found by their key, whatever the planner knows of a table that was small when it planned. Local to the
-- transaction.
-- name: plan_by_index :one
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true)

-- name: plan_freely :one
select set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true),
  set_config('enable_mergejoin', 'on', true)

-- A job that was started before goes on where it stopped. Data that is more than :bytes is read when there is room for it.
-- A locked row stays where it is, so that its place finds it.
-- part: claim_head
update {p}.jobs as j set status = 'running', token = j.token + 1, attempt = j.attempt + 1, runner = :holder::text,
  lease_until = now() + :lease_ms::bigint * interval '1 millisecond', started_at = coalesce(j.started_at, now()),
  finished_at = null, error = null, reason = null
where j.ctid = any (array(
  select q.ctid from {p}.jobs q where q.status = 'queued'

-- part: claim_tail
order by q.id limit :most::bigint for update skip locked))
returning j.id:bigint, j.workflow_id:bigint, j.token:bigint, j.version:integer, j.run:smallint, j.attempt:smallint,
  j.depth:smallint, (j.started_at < now() or j.run > 1) as resumed:boolean, j.resume_step:text?, j.trigger_kind:text,
  j.trigger_event:text?, j.trigger_entity:text?, j.trigger_id:bigint?,
  (select d.text from (select j.trigger_data::text as text offset 0) d where octet_length(d.text) <= :bytes::bigint)
    as trigger_data:text?,
  j.trace:text?, now() as claimed_at:timestamptz, j.trigger_entity_id:bigint?, j.trigger_at:timestamptz?,
  not exists (select 1 from {p}.workflow_versions v where v.workflow_id = j.workflow_id and v.version = j.version)
    as orphan:boolean,
  coalesce(j.root, -j.id) as root:bigint,
  j.started_at = now() and exists (select 1 from {p}.workflows w where w.id = j.workflow_id and not w.enabled)
    as disabled:boolean,
  j.trigger_data is not null as has_data:boolean

-- name: claim_jobs :many row(job)
{claim_head} and not q.suspect {claim_tail}

-- Of jobs whose last runner died: work.h.
-- name: claim_crashed :many row(job)
{claim_head} and q.suspect {claim_tail}

-- A row that is locked is being written, by its own step or by a cancellation: the next renewal decides.
-- name: claim_renew :many
update {p}.jobs as j set lease_until = now() + :lease_ms::bigint * interval '1 millisecond'
where j.id = any (array(
  select o.id from unnest(:ids::bigint[], :tokens::bigint[]) as e (id, token)
  join {p}.jobs o on o.id = e.id and o.token = e.token
  where o.status in ('running', 'waiting') for no key update of o skip locked))
returning j.id as id

-- name: claim_held :many
select j.id as id from unnest(:ids::bigint[], :tokens::bigint[]) as e (id, token)
join {p}.jobs j on j.id = e.id and j.token = e.token where j.status in ('running', 'waiting')
