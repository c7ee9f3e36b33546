-- What an operator has checked: postings, forward lists and records against each other.

-- name: verify_projects :many
select p.number:bigint, p.slug:text from platform.projects p
where p.state = 'active' and (:slug::text = '' or p.slug = :slug::text) order by p.number;

-- name: verify_claim :opt
update {p}.search_lease l set token = l.token + 1, owner = 'verify', lease_until = now() + interval '2 minutes'
where l.id = 1 and (l.lease_until is null or l.lease_until < now()) returning l.token:bigint;

-- name: verify_renew :opt
update {p}.search_lease l set lease_until = now() + interval '2 minutes'
where l.id = 1 and l.token = :token::bigint and l.lease_until is not null returning l.token:bigint;

-- name: verify_docs :many
select d.record_id:bigint, d.terms:bytea from {p}.search_docs d
where d.idx = :idx::integer and d.record_id > :after::bigint order by d.record_id limit :most::bigint;

-- name: verify_leaves :many
select p.term_id:integer, p.field:smallint, p.base:bigint, p.n:integer, p.docs:bytea from {p}.search_postings p
where p.idx = :idx::integer and (p.term_id, p.field, p.base) > (:term::integer, :field::smallint, :base::bigint)
order by p.term_id, p.field, p.base limit :most::bigint;

-- Postings of words that have no row.
-- name: verify_lost :one
select count(*) as lost:bigint! from (
  select distinct p.term_id from {p}.search_postings p where p.idx = :idx::integer) w
where not exists (select 1 from {p}.search_terms t where t.id = w.term_id);

-- name: verify_drop :exec
delete from {p}.search_postings p using unnest(:terms::bigint[], :fields::bigint[]) as k (t, f)
where p.idx = :idx::integer and p.term_id = k.t::integer and p.field = k.f::smallint;
