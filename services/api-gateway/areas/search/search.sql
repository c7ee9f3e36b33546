-- What searches read of the index. Leaves and lexicon are the indexer's (services/search-indexer/README.md).

-- One row at least: with the settings, which may be none.
-- name: search_live :many
select s.doc:jsonb?, i.id:integer?, i.entity_id:bigint?, i.field_ids:bigint[]?
from (select 1) as one
left join {p}.settings s on s.kind = 'search' and s.key = 'settings'
left join {p}.search_indexes i on i.state = 'live' and i.entity_id = any(:entity_ids::bigint[])

-- name: search_members :many
select m.user_id:bigint from {p}.group_members m where m.group_id = :group_id::bigint
order by m.user_id limit :limit::bigint

-- name: search_terms_find :many
select t.id:integer, t.term:text, t.df:integer from {p}.search_terms t where t.term = any(:terms::text[])

-- name: search_lexicon_rows :many
select l.data:bytea from {p}.search_lexicon l where l.key = any(:keys::text[]) order by l.key, l.part

-- The commonest among the first 4,096 that begin so: codes that are alike may be a million.
-- name: search_terms_prefix :many
select t.id:integer, t.term:text, t.df:integer
from (select w.id, w.term, w.df from {p}.search_terms w
  where w.term > :prefix::text and w.term < :prefix::text || chr(1114111) order by w.term limit 4096) t
order by t.df desc, t.term limit :limit::bigint

-- All leaves of the lists. `live`: as long as the index is, nothing of it is deleted.
-- name: search_leaves :many row(search_leaf)
select l.term_id::bigint as term_id:bigint, l.field::bigint as field:bigint, l.base:bigint, l.n:integer, l.docs:bytea,
  (select count(*) from {p}.search_indexes x where x.id = :idx::integer and x.state = 'live') as live:bigint
from {p}.search_postings l
where l.idx = :idx::integer and l.term_id = any((:term_ids::bigint[])::integer[])
  and l.field = any((:fields::bigint[])::smallint[])
order by l.term_id, l.field, l.base

-- Those that may hold ids from :from on: with each list's one that straddles it.
-- name: search_window :many row(search_leaf)
select t.id as term_id:bigint, f.id as field:bigint, p.base:bigint, p.n:integer, p.docs:bytea,
  (select count(*) from {p}.search_indexes x where x.id = :idx::integer and x.state = 'live') as live:bigint
from unnest(:term_ids::bigint[]) as t (id) cross join unnest(:fields::bigint[]) as f (id)
left join lateral (select b.base from {p}.search_postings b
  where b.idx = :idx::integer and b.term_id = t.id::integer and b.field = f.id::smallint and b.base <= :from::bigint
  order by b.base desc limit 1) z on true
cross join lateral (select l.base, l.n, l.docs from {p}.search_postings l
  where l.idx = :idx::integer and l.term_id = t.id::integer and l.field = f.id::smallint
    and l.base >= coalesce(z.base, :from::bigint) offset 0) p
order by 1, 2, 3

-- name: search_is_live :one
select exists (select 1 from {p}.search_indexes x where x.id = :idx::integer and x.state = 'live') as live:boolean

-- Where the last leaf of any of the lists begins.
-- name: search_top :one
select coalesce(max(z.base), 0) as base:bigint
from unnest(:term_ids::bigint[]) as t (id) cross join unnest(:fields::bigint[]) as f (id)
cross join lateral (select b.base from {p}.search_postings b
  where b.idx = :idx::integer and b.term_id = t.id::integer and b.field = f.id::smallint
  order by b.base desc limit 1) z
