-- Statements of the queue (work.c): a project's lease is claimed, renewed and released. All times are the database server's. A claim
-- locks the row `for update`. A transaction that writes the index holds the row `for key share`: until it ends, the lease can be
-- renewed and released, but not claimed.

-- part: work
(exists (select 1 from {p}.outbox b where b.pending & 2 <> 0)
  or exists (select 1 from {p}.search_indexes x where x.state in ('building', 'dropped'))
  or exists (select 1 from {p}.search_work w where w.due_at <= now())
  or l.model_version <> (select m.model_version from {p}.meta m)
  or exists (select 1 from {p}.search_indexes x where x.state = 'live' and {other_terms}))

-- A live generation of another TOKENS_VERSION whose entity has no other generation yet; the same condition as reconcile_has_old_tokens().
-- part: other_terms
split_part(x.shape, ' ', 1) <> '3' and not exists (
  select 1 from {p}.search_indexes o where o.entity_id = x.entity_id and o.state <> 'live' and o.state <> 'dropped')

-- part: claimed
update {p}.search_lease s set token = s.token + 1, owner = :holder::text, attempt = s.attempt + 1,
  lease_until = now() + :lease_ms::bigint * interval '1 millisecond'
from due d where s.id = d.id
returning s.id:smallint, s.token:bigint, s.attempt:smallint

-- name: indexes_claim :many row(claimed_index)
with due as (
  select l.id from {p}.search_lease l where l.lease_until is null and {work}
  limit :most::bigint for update of l)
{claimed};

-- Claims a lease whose process died.
-- name: indexes_claim_crashed :many row(claimed_index)
with due as (
  select l.id from {p}.search_lease l where l.lease_until < now() limit :most::bigint for update of l skip locked)
{claimed};

-- name: indexes_renew :many
update {p}.search_lease s set lease_until = now() + :lease_ms::bigint * interval '1 millisecond'
from unnest(:ids::bigint[], :tokens::bigint[]) as e (id, token)
where s.id = e.id and s.token = e.token and s.lease_until is not null returning s.id:smallint;

-- name: indexes_held :many
select s.id:smallint from unnest(:ids::bigint[], :tokens::bigint[]) as e (id, token)
join {p}.search_lease s on s.id = e.id and s.token = e.token where s.lease_until is not null;

-- Releases leases; attempt 0, because the process did not crash.
-- name: indexes_release :exec
update {p}.search_lease s set owner = null, lease_until = null, attempt = 0
from unnest(:ids::bigint[], :tokens::bigint[]) as g (id, token)
where s.id = g.id and s.token = g.token and s.lease_until is not null;

-- Quarantines for five minutes an index that :attempts processes crashed with. The generation that was being built has failed.
-- name: indexes_quarantine :many
with ended as (
  select l.id from {p}.search_lease l where l.lease_until < now() and l.attempt >= :attempts::smallint for update skip locked),
rests as (
  update {p}.search_lease s set owner = 'quarantine', token = s.token + 1, attempt = 0, lease_until = now() + interval '5 minutes'
  from ended e where s.id = e.id returning s.id, s.token),
failed as (
  update {p}.search_indexes x set state = 'failed',
    error = 'The build of the index crashed ' || :attempts::smallint || ' indexers, one after the other.'
  from rests where x.state = 'building')
select r.id as id:smallint, :attempts::smallint as attempt:smallint, true as quarantined:boolean from rests r;

-- name: indexes_projects :many
select p.number:bigint, p.server:text from platform.projects p
where p.state = 'active' and (exists (select 1 from platform.search_projects f where f.number = p.number)
  or p.number % 30 = extract(epoch from now())::bigint / 2 % 30)
order by p.number;

-- name: indexes_known :exec
insert into platform.search_projects (number) values (:number::bigint) on conflict (number) do nothing;

-- name: indexes_look :one
select l.lease_until is null and {work} as due:boolean, coalesce(l.lease_until < now(), false) as crashed:boolean,
  coalesce(l.lease_until < now(), false) as expired:boolean
from {p}.search_lease l;
