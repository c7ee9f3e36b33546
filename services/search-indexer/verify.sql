-- Statements of `search-indexer --verify` (verify.c, verify_lists.c).

-- name: verify_projects :many
select p.number:bigint, p.slug:text from platform.projects p
where p.state = 'active' and (:slug::text = '' or p.slug = :slug::text) order by p.number;

-- name: verify_claim :opt
with free as (
  select s.id from {p}.search_lease s where s.id = 1 and (s.lease_until is null or s.lease_until < now()) for update skip locked)
update {p}.search_lease l set token = l.token + 1, owner = 'verify', lease_until = now() + interval '2 minutes'
from free f where l.id = f.id returning l.token:bigint;

-- name: verify_renew :opt
update {p}.search_lease l set lease_until = now() + interval '2 minutes'
where l.id = 1 and l.token = :token::bigint and l.lease_until is not null returning l.token:bigint;

-- name: verify_docs :many binary
select d.record_id:bigint, d.terms:bytea from {p}.search_docs d
where d.idx = :idx::integer and d.record_id > :after::bigint order by d.record_id limit :most::bigint;

-- name: verify_leaves :many binary
select p.term_id:integer, p.field:smallint, p.base:bigint, p.n:integer, p.docs:bytea from {p}.search_postings p
where p.idx = :idx::integer and (p.term_id, p.field, p.base) > (:term::integer, :field::smallint, :base::bigint)
order by p.term_id, p.field, p.base limit :most::bigint;

-- How many of these words have no row in search_terms.
-- name: verify_lost :one
select count(*) as lost:bigint! from unnest(:terms::bigint[]) as k (id)
where not exists (select 1 from {p}.search_terms t where t.id = k.id);

-- name: verify_drop :exec
delete from {p}.search_postings p using unnest(:terms::bigint[], :fields::bigint[]) as k (t, f)
where p.idx = :idx::integer and p.term_id = k.t::integer and p.field = k.f::smallint;
