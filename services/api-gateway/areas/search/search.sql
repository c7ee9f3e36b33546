-- Queries of searches on the index. The indexer writes leaves and lexicon (services/search-indexer/README.md). The limits on lists of
-- values exclude nothing. They make the planner estimate that a generic plan is as cheap as a custom plan, so it keeps the generic plan:
-- planning each execution would take longer than the statement itself.

-- The settings, if any are stored, and all live indexes: one row each, at least one row.
-- name: search_live :many
select s.xmin::text || ' ' || s.updated_at::text as version:text?, s.doc:jsonb?,
  null::integer as id:integer?, null::bigint as entity_id:bigint?, null::bigint[] as field_ids:bigint[]?
from (select 1) as one
left join {p}.settings s on s.kind = 'search' and s.key = 'settings'
union all
select null, null, i.id, i.entity_id, i.field_ids from {p}.search_indexes i where i.state = 'live'

-- The given terms and terms that begin with :prefix, each with its leaves in the given fields. The leaves are omitted, and `whole` is
-- false, if there are more terms than :most or more entries than :postings. At least one row: `live` says whether :live_ids are the live
-- indexes of the entities, and `version` which settings are in force, in the same snapshot as the lists.
-- name: search_plain :many binary
with found as (
  (select t.id, t.term, t.df, false as goes_on from {p}.search_terms t where t.term = any(:terms::text[]) limit :most::bigint)
  union all
  (select w.id, w.term, w.df, true
   from (select k.id, k.term, k.df
     from (select b.id, b.term, b.df from {p}.search_terms b
       where b.term > :prefix::text? and b.term < :prefix::text? || chr(1114111) order by b.term limit :candidates::bigint) k
     limit :candidates::bigint) w
   order by w.df desc, w.term limit :limit::bigint)
), counted as (
  select f.id, f.term, f.df, f.goes_on,
    sum(f.df) over () <= :postings::bigint and count(*) over () <= :most::bigint as whole
  from found f
)
select n.live:boolean, n.version:text?, c.id:integer?, c.term:text?, c.df:integer?, c.goes_on:boolean?, c.whole:boolean?,
  l.idx:bigint?, l.field:bigint?, l.base:bigint?, l.n:integer?, l.docs:bytea?
from (select
  (select count(*) = :targets::bigint and coalesce(bool_and(x.id = any(:live_ids::bigint[])), true) from {p}.search_indexes x
   where x.state = 'live' and x.entity_id = any(:entity_ids::bigint[])) as live,
  (select s.xmin::text || ' ' || s.updated_at::text from {p}.settings s where s.kind = 'search' and s.key = 'settings') as version) n
left join counted c on true
left join lateral (
  select f.idx, f.field, p.base, p.n, p.docs
  from (select u.idx, u.field from unnest(:indexes::bigint[], :fields::bigint[]) as u (idx, field) limit :lists::bigint) f
  cross join lateral (select q.base, q.n, q.docs from {p}.search_postings q
    where q.idx = f.idx::integer and q.term_id = c.id and q.field = f.field::smallint order by q.base) p
  where c.whole offset 0) l on true

-- name: search_members :many
select m.user_id:bigint from {p}.group_members m where m.group_id = :group_id::bigint
order by m.user_id limit :limit::bigint

-- name: search_terms_find :many
select t.id:integer, t.term:text, t.df:integer from {p}.search_terms t where t.term = any(:terms::text[]) limit :count::bigint

-- name: search_lexicon_rows :many binary
select l.data:bytea from (select u.key from unnest(:keys::text[]) as u (key) limit :count::bigint) k
cross join lateral (select r.data from {p}.search_lexicon r where r.key = k.key order by r.part offset 0) l

-- The commonest among the first :candidates terms that begin with :prefix: there may be a million similar codes.
-- name: search_terms_prefix :many
select t.id:integer, t.term:text, t.df:integer
from (select k.id, k.term, k.df
  from (select w.id, w.term, w.df from {p}.search_terms w
    where w.term > :prefix::text and w.term < :prefix::text || chr(1114111) order by w.term limit :candidates::bigint) k
  limit :candidates::bigint) t
order by t.df desc, t.term limit :limit::bigint

-- All leaves of the lists, grouped by list and in order. `live`: nothing of the index is deleted while the index is live.
-- name: search_leaves :many binary row(search_leaf)
select t.id as term_id:bigint, p.field::bigint as field:bigint, p.base:bigint, p.n:integer, p.docs:bytea,
  (select count(*) from {p}.search_indexes x where x.id = :idx::integer and x.state = 'live') as live:bigint
from (select u.id from unnest(:term_ids::bigint[]) as u (id) limit :terms::bigint) t
cross join lateral (select l.field, l.base, l.n, l.docs from {p}.search_postings l
  where l.idx = :idx::integer and l.term_id = t.id::integer and l.field = any((:fields::bigint[])::smallint[])
  order by l.field, l.base offset 0) p

-- The leaves that may hold ids from :from on, including each list's leaf that begins before :from.
-- name: search_window :many binary row(search_leaf)
select t.id as term_id:bigint, f.id as field:bigint, p.base:bigint, p.n:integer, p.docs:bytea,
  (select count(*) from {p}.search_indexes x where x.id = :idx::integer and x.state = 'live') as live:bigint
from (select u.id from unnest(:term_ids::bigint[]) as u (id) limit :terms::bigint) t
cross join (select u.id from unnest(:fields::bigint[]) as u (id) limit :lists::bigint) f
left join lateral (select b.base from {p}.search_postings b
  where b.idx = :idx::integer and b.term_id = t.id::integer and b.field = f.id::smallint and b.base <= :from::bigint
  order by b.base desc limit 1) z on true
cross join lateral (select l.base, l.n, l.docs from {p}.search_postings l
  where l.idx = :idx::integer and l.term_id = t.id::integer and l.field = f.id::smallint
    and l.base >= coalesce(z.base, :from::bigint) order by l.base offset 0) p

-- name: search_is_live :one
select exists (select 1 from {p}.search_indexes x where x.id = :idx::integer and x.state = 'live') as live:boolean

-- The highest base of the last leaves of all lists.
-- name: search_top :one
select coalesce(max(z.base), 0) as base:bigint
from (select u.id from unnest(:term_ids::bigint[]) as u (id) limit :terms::bigint) t
cross join (select u.id from unnest(:fields::bigint[]) as u (id) limit :lists::bigint) f
cross join lateral (select b.base from {p}.search_postings b
  where b.idx = :idx::integer and b.term_id = t.id::integer and b.field = f.id::smallint
  order by b.base desc limit 1) z
