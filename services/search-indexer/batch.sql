-- Statements of a batch (batch.c): words, forward lists and leaves.

-- Keeps the lease until the end of the transaction: taking it needs a lock of the row that conflicts with this one, renewing it does not.
-- name: index_own :opt
select l.id:smallint from {p}.search_lease l where l.id = 1 and l.token = :token::bigint and l.lease_until is not null for key share;

-- A batch was committed without a crash: sets the count of attempts back to 1, so that earlier crashes no longer count.
-- name: index_progress :exec
update {p}.search_lease l set attempt = 1 where l.id = 1;

-- Also locks the generation's row, so that a purge waits for the transaction.
-- name: index_touch :opt
update {p}.search_indexes x set last_indexed_at = now(), error = null, documents = greatest(x.documents + :delta::bigint, 0)
where x.id = :idx::integer and x.state in ('live', 'building') returning x.id:integer;

-- name: words_find :many binary row(word)
select t.id:integer, t.term:text, t.df:integer, t.part:integer from {p}.search_terms t where t.term = any(:terms::text[]);

-- name: words_by_id :many binary row(word)
select t.id:integer, t.term:text, t.df:integer, t.part:integer from {p}.search_terms t where t.id = any(:ids::bigint[]);

-- name: words_reserve :many binary
select nextval('{p}.search_terms_id_seq'::regclass) as id:bigint! from generate_series(1, :count::bigint);

-- name: words_add :exec
insert into {p}.search_terms (id, term, df, part)
select k.id, k.term, k.df, k.part from unnest(:ids::bigint[], :terms::text[], :dfs::bigint[], :parts::bigint[]) as k (id, term, df, part);

-- name: words_count :exec
update {p}.search_terms t set df = k.df
from (select u.df, l.place from unnest(:ids::bigint[], :dfs::bigint[]) as u (id, df)
  cross join lateral (select o.ctid as place from {p}.search_terms o where o.id = u.id offset 0) l) k
where t.ctid = k.place;

-- name: forwards_read :many binary
select d.record_id:bigint, d.terms:bytea from {p}.search_docs d
where d.idx = :idx::integer and d.record_id = any(:ids::bigint[]) order by d.record_id;

-- name: forwards_put :exec
insert into {p}.search_docs (idx, record_id, terms)
select :idx::integer, k.id, substring(:data::bytea from k.at::integer for k.len::integer)
from unnest(:ids::bigint[], :ats::bigint[], :lens::bigint[]) as k (id, at, len)
on conflict (idx, record_id) do update set terms = excluded.terms;

-- For a rebuild, which has no rows past its cursor: no conflict is possible.
-- name: forwards_add :exec
insert into {p}.search_docs (idx, record_id, terms)
select :idx::integer, k.id, substring(:data::bytea from k.at::integer for k.len::integer)
from unnest(:ids::bigint[], :ats::bigint[], :lens::bigint[]) as k (id, at, len);

-- name: forwards_drop :exec
delete from {p}.search_docs d where d.idx = :idx::integer and d.record_id = any(:ids::bigint[]);

-- The leaves of each list that hold ids from lo to hi, and their ctids, which are valid until this transaction writes the leaves.
-- name: leaves_read :many binary
select k.i as i:bigint!, p.place as place:text!, p.base as base:bigint!, p.n as n:integer!, p.docs as docs:bytea!
from unnest(:terms::bigint[], :fields::bigint[], :los::bigint[], :his::bigint[]) with ordinality as k (t, f, lo, hi, i)
cross join lateral (
  (select l.ctid::text as place, l.base, l.n, l.docs from {p}.search_postings l
   where l.idx = :idx::integer and l.term_id = k.t::integer and l.field = k.f::smallint and l.base <= k.lo
   order by l.base desc limit 1)
  union all
  (select l.ctid::text, l.base, l.n, l.docs from {p}.search_postings l
   where k.lo < k.hi and l.idx = :idx::integer and l.term_id = k.t::integer and l.field = k.f::smallint
     and l.base > k.lo and l.base <= k.hi offset 0)) p;

-- Changes leaves that this transaction has read, found by their ctids; each leaf once.
-- name: leaves_set :exec
update {p}.search_postings p set n = k.n, docs = substring(:data::bytea from k.at::integer for k.len::integer)
from unnest(:places::text[], :ns::bigint[], :ats::bigint[], :lens::bigint[]) as k (place, n, at, len)
where p.ctid = k.place::tid;

-- name: leaves_put :exec
insert into {p}.search_postings (idx, term_id, field, base, n, docs)
select :idx::integer, k.t, k.f, k.b, k.n, substring(:data::bytea from k.at::integer for k.len::integer)
from unnest(:terms::bigint[], :fields::bigint[], :bases::bigint[], :ns::bigint[], :ats::bigint[], :lens::bigint[]) as k (t, f, b, n, at, len)
on conflict (idx, term_id, field, base) do update set n = excluded.n, docs = excluded.docs;

-- For a rebuild, which has no rows past its cursor: no conflict is possible.
-- name: leaves_add :exec
insert into {p}.search_postings (idx, term_id, field, base, n, docs)
select :idx::integer, k.t, k.f, k.b, k.n, substring(:data::bytea from k.at::integer for k.len::integer)
from unnest(:terms::bigint[], :fields::bigint[], :bases::bigint[], :ns::bigint[], :ats::bigint[], :lens::bigint[]) as k (t, f, b, n, at, len);

-- name: leaves_drop :exec
delete from {p}.search_postings p where p.ctid = any (array(
  select l.place from unnest(:terms::bigint[], :fields::bigint[], :bases::bigint[]) as k (t, f, b)
  cross join lateral (select o.ctid as place from {p}.search_postings o
    where o.idx = :idx::integer and o.term_id = k.t::integer and o.field = k.f::smallint and o.base = k.b offset 0) l));
