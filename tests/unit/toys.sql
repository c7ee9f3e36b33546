-- A kind of work for tests of the queue. A queued row with attempts was left by a process that died.

-- part: claimed
update {p}.toys as t set status = 'running', token = t.token + 1, attempt = t.attempt + 1, holder = :holder::text,
  lease_until = now() + :lease_ms::bigint * interval '1 millisecond'
where t.id = any (array(
  select q.id from {p}.toys q where q.status = 'queued'

-- part: returned
order by q.id limit :most::bigint for update skip locked))
returning t.id as id:bigint, t.token as token:bigint, t.payload as payload:text

-- name: toys_claim :many row(toy)
{claimed} and q.attempt = 0 {returned}

-- name: toys_claim_crashed :many row(toy)
{claimed} and q.attempt > 0 {returned}

-- name: toys_renew :many
update {p}.toys t set lease_until = now() + :lease_ms::bigint * interval '1 millisecond'
from unnest(:ids::bigint[], :tokens::bigint[]) as e (id, token)
where t.id = e.id and t.token = e.token and t.status = 'running' returning t.id as id

-- name: toys_held :many
select t.id as id from unnest(:ids::bigint[], :tokens::bigint[]) as e (id, token)
join {p}.toys t on t.id = e.id and t.token = e.token where t.status = 'running'

-- name: toys_release :exec
update {p}.toys t set status = 'queued', token = t.token + 1, attempt = t.attempt - 1, lease_until = null
from unnest(:ids::bigint[], :tokens::bigint[]) as e (id, token)
where t.id = e.id and t.token = e.token and t.status = 'running'

-- name: toys_rescue :many
update {p}.toys t set status = case when t.attempt >= :attempts::bigint then 'dead' else 'queued' end, token = t.token + 1,
  lease_until = null
where t.status = 'running' and t.lease_until < now()
returning t.id as id, t.attempt as attempt, t.status = 'dead' as quarantined

-- name: toys_projects :many
select p.number as number, p.server as server from platform.projects p where p.state = 'active' order by p.number

-- name: toys_look :one
select exists (select 1 from {p}.toys t where t.status = 'queued' and t.attempt = 0) as due,
  exists (select 1 from {p}.toys t where t.status = 'queued' and t.attempt > 0) as crashed,
  exists (select 1 from {p}.toys t where t.status = 'running' and t.lease_until < now()) as expired

-- name: toys_done :exec
update {p}.toys t set status = 'done', runs = t.runs + 1, lease_until = null, finished_at = now()
where t.id = :id::bigint and t.token = :token::bigint and t.status = 'running'

-- name: toys_retain :exec
delete from {p}.toys t where t.id in (select o.id from {p}.toys o
  where o.finished_at < now() - make_interval(days => :days::integer) order by o.id limit :most::bigint)

-- name: toys_old :one
select exists (select 1 from {p}.toys o where o.finished_at < now() - make_interval(days => :days::integer)) as found
