-- What changes about some records.

-- The lease is ours until the transaction's end.
-- name: index_own :opt
select l.id:smallint from {p}.search_lease l where l.id = 1 and l.token = :token::bigint and l.lease_until is not null for update;

-- It did not end this process: what is behind it may be counted anew.
-- name: index_progress :exec
update {p}.search_lease l set attempt = 1 where l.id = 1;

-- Locks the generation, too: whoever purges waits.
-- name: index_touch :opt
update {p}.search_indexes x set last_indexed_at = now(), error = null, documents = greatest(x.documents + :delta::bigint, 0)
where x.id = :idx::integer and x.state in ('live', 'building') returning x.id:integer;

-- name: words_find :many row(word)
select t.id:integer, t.term:text, t.df:integer, t.part:integer from {p}.search_terms t where t.term = any(:terms::text[]);

-- name: words_by_id :many row(word)
select t.id:integer, t.term:text, t.df:integer, t.part:integer from {p}.search_terms t where t.id = any(:ids::bigint[]);

-- name: words_reserve :many
select nextval('{p}.search_terms_id_seq'::regclass) as id:bigint! from generate_series(1, :count::bigint);

-- name: words_add :exec
insert into {p}.search_terms (id, term, df, part)
select k.id, k.term, k.df, k.part from unnest(:ids::bigint[], :terms::text[], :dfs::bigint[], :parts::bigint[]) as k (id, term, df, part);

-- name: words_count :exec
update {p}.search_terms t set df = k.df from unnest(:ids::bigint[], :dfs::bigint[]) as k (id, df) where t.id = k.id;

-- name: forwards_read :many
select d.record_id:bigint, d.terms:bytea from {p}.search_docs d
where d.idx = :idx::integer and d.record_id = any(:ids::bigint[]) order by d.record_id;

-- name: forwards_put :exec
insert into {p}.search_docs (idx, record_id, terms)
select :idx::integer, k.id, substring(:data::bytea from k.at::integer for k.len::integer)
from unnest(:ids::bigint[], :ats::bigint[], :lens::bigint[]) as k (id, at, len)
on conflict (idx, record_id) do update set terms = excluded.terms;

-- name: forwards_drop :exec
delete from {p}.search_docs d where d.idx = :idx::integer and d.record_id = any(:ids::bigint[]);

-- Of each list the leaves that hold what lies between lo and hi.
-- name: leaves_read :many
select k.i as i:bigint!, p.base:bigint, p.n:integer, p.docs:bytea
from unnest(:terms::bigint[], :fields::bigint[], :los::bigint[], :his::bigint[]) with ordinality as k (t, f, lo, hi, i)
left join lateral (select b.base from {p}.search_postings b
  where b.idx = :idx::integer and b.term_id = k.t::integer and b.field = k.f::smallint and b.base <= k.lo
  order by b.base desc limit 1) z on true
cross join lateral (select l.base, l.n, l.docs from {p}.search_postings l
  where l.idx = :idx::integer and l.term_id = k.t::integer and l.field = k.f::smallint
    and l.base >= coalesce(z.base, 0) and l.base <= k.hi offset 0) p
order by 1, 2;

-- name: leaves_put :exec
insert into {p}.search_postings (idx, term_id, field, base, n, docs)
select :idx::integer, k.t, k.f, k.b, k.n, substring(:data::bytea from k.at::integer for k.len::integer)
from unnest(:terms::bigint[], :fields::bigint[], :bases::bigint[], :ns::bigint[], :ats::bigint[], :lens::bigint[]) as k (t, f, b, n, at, len)
on conflict (idx, term_id, field, base) do update set n = excluded.n, docs = excluded.docs;

-- name: leaves_drop :exec
delete from {p}.search_postings p using unnest(:terms::bigint[], :fields::bigint[], :bases::bigint[]) as k (t, f, b)
where p.idx = :idx::integer and p.term_id = k.t::integer and p.field = k.f::smallint and p.base = k.b;
