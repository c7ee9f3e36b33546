-- Statements for a project's index as a whole: its generations, the records that wait, and the steps of a round (index.c).
-- name: index_look :many
select m.model_version:bigint, l.model_version as aligned:bigint!, x.id:integer?, x.entity_id:bigint?, x.state:text?, x.field_ids:bigint[]?,
  x.shape:text?, x.cursor_id:bigint?, x.documents:bigint?, x.created_at:timestamptz?,
  x.began_at is not null as began:boolean?
from {p}.meta m cross join {p}.search_lease l left join {p}.search_indexes x on true order by x.id;

-- name: index_release :exec
update {p}.search_lease l set owner = null, lease_until = null, attempt = 0
where l.id = 1 and l.token = :token::bigint and l.lease_until is not null;

-- Changed records: some of the newest rows of the outbox and some of the oldest.
-- name: live_rows :many
select o.id:bigint, o.event:text, o.entity_id:bigint, o.record_id:bigint from {p}.outbox o where o.id in (
  (select n.id from {p}.outbox n where n.pending & 2 <> 0 order by n.id desc limit :newest::bigint)
  union all
  (select f.id from {p}.outbox f where f.pending & 2 <> 0 order by f.id limit :oldest::bigint))
order by o.entity_id, o.record_id;

-- name: live_done :exec
delete from {p}.outbox o where o.id = any(:ids::bigint[]) and o.pending = 2 and o.payload = '{}';

-- Rows that live_done does not delete, because other consumers have them or have had them: clears the bit of search. The row is
-- deleted later, with history.
-- name: live_taken :exec
update {p}.outbox o set pending = (o.pending & ~2)::smallint,
  consumed_at = case when o.pending & ~2 = 0 then now() else o.consumed_at end
where o.id = any(:ids::bigint[]) and o.pending & 2 <> 0;

-- name: work_refer :exec
insert into {p}.search_work (kind, entity_id, field_id, ids) values ('refer', :entity_id::bigint, :field_id::bigint, :ids::bigint[]);

-- name: work_check :exec
insert into {p}.search_work (kind, entity_id, since, due_at)
values ('check', :entity_id::bigint, :since::timestamptz?, now() + :after_ms::bigint * interval '1 millisecond');

-- name: work_next :opt
select w.id:bigint, w.kind:text, w.entity_id:bigint, w.field_id:bigint, w.ids:bigint[], w.term:text?, w.since:timestamptz?, w.cursor_id:bigint
from {p}.search_work w where w.due_at <= now() order by w.id limit 1;

-- Deletes all other checks of the entity: this check has read nothing yet, so it covers them. Only checks without `since` count.
-- name: work_same :exec
delete from {p}.search_work o using {p}.search_work w
where w.id = :id::bigint and w.since is null and o.kind = 'check' and o.entity_id = w.entity_id and o.id <> w.id and o.since is null;

-- name: work_move :exec
update {p}.search_work w set cursor_id = :cursor_id::bigint where w.id = :id::bigint;

-- name: work_done :exec
delete from {p}.search_work w where w.id = :id::bigint;

-- Ids in the lists of a principal: of each generation the leaf that holds the cursor, and the next one.
-- name: work_principal :many binary
select x.id:integer, x.entity_id:bigint, p.base:bigint, p.n:integer, p.docs:bytea
from {p}.search_terms t join {p}.search_indexes x on x.state in ('live', 'building')
cross join lateral (select l.base, l.n, l.docs from {p}.search_postings l
  where l.idx = x.id and l.term_id = t.id and l.field = 0
    and l.base >= coalesce((select max(b.base) from {p}.search_postings b
      where b.idx = x.id and b.term_id = t.id and b.field = 0 and b.base <= :cursor_id::bigint), 0)
  order by l.base limit 2) p
where t.term = :term::text order by x.id, p.base;

-- --- generations ---

-- name: generation_ask :exec
insert into {p}.search_indexes (entity_id, state) values (:entity_id::bigint, 'building')
on conflict (entity_id) where state = 'building' do nothing;

-- name: generation_begin :opt
update {p}.search_indexes x set shape = :shape::text, field_ids = :field_ids::bigint[], cursor_id = 0, documents = 0, total = :total::bigint,
  began_at = now()
where x.id = :idx::integer and x.state = 'building' returning x.id:integer;

-- name: generation_move :opt
update {p}.search_indexes x set cursor_id = :cursor_id::bigint, last_indexed_at = now()
where x.id = :idx::integer and x.state = 'building' returning x.id:integer;

-- name: generation_count :opt
update {p}.search_indexes x set documents = x.documents + :count::bigint where x.id = :idx::integer and x.state = 'building' returning x.id:integer;

-- name: generation_retire :exec
update {p}.search_indexes x set state = 'dropped', cursor_id = 0 where x.entity_id = :entity_id::bigint and x.state in ('live', 'failed');

-- name: generation_live :opt
update {p}.search_indexes x set state = 'live', error = null, last_indexed_at = now() where x.id = :idx::integer and x.state = 'building'
returning x.id:integer;

-- name: generation_fail :exec
update {p}.search_indexes x set state = 'failed', error = :error::text where x.id = :idx::integer and x.state in ('building', 'live');

-- name: generation_drop :exec
update {p}.search_indexes x set state = 'dropped', cursor_id = 0 where x.id = any(:ids::bigint[]);

-- name: generation_gone :exec
delete from {p}.search_indexes x where x.id = :idx::integer and x.state = 'dropped';

-- The next keys of a generation's leaves; only the primary key is read.
-- name: build_leaves :many binary
select p.term_id:integer, p.field:smallint, p.base:bigint from {p}.search_postings p
where p.idx = :idx::integer and (p.term_id, p.field, p.base) > (:term::integer, :field::smallint, :base::bigint)
order by p.term_id, p.field, p.base limit :most::bigint;

-- Deletes some leaves of words from :term on. Returns how many, and the last of these words.
-- name: clear_leaves :one
with page as (
  select l.ctid as place, l.term_id from {p}.search_postings l where l.idx = :idx::integer and l.term_id >= :term::integer
  order by l.term_id, l.field, l.base limit :most::bigint),
gone as (delete from {p}.search_postings p where p.ctid = any (array(select s.place from page s)) returning 1)
select (select count(*) from gone) as gone:bigint!, coalesce((select max(s.term_id) from page s), 0) as term:integer!;

-- Deletes some forward lists of records after :after. Returns how many, and the last of these records.
-- name: clear_docs :one
with page as (
  select d.ctid as place, d.record_id from {p}.search_docs d where d.idx = :idx::integer and d.record_id > :after::bigint
  order by d.record_id limit :most::bigint),
gone as (delete from {p}.search_docs d where d.ctid = any (array(select s.place from page s)) returning 1)
select (select count(*) from gone) as gone:bigint!, coalesce((select max(s.record_id) from page s), :after::bigint) as record_id:bigint!;

-- Records that changed while their postings were in memory: they are indexed once more.
-- name: build_again :exec
insert into {p}.outbox (pending, event, entity_id, record_id, payload)
select 2, 'EntityUpdated', :entity_id::bigint, k.id, '{}' from unnest(:ids::bigint[]) as k (id);

-- The next words, each with the number of its postings in live generations.
-- name: tidy_terms :many binary
with page as (
  select t.id, t.term, t.df, t.part from {p}.search_terms t where t.id > :after::bigint order by t.id limit :most::bigint),
counted as (
  select p.term_id, sum(p.n) as live from {p}.search_indexes x join {p}.search_postings p on p.idx = x.id
  where x.state = 'live' and p.term_id between (select min(g.id) from page g) and (select max(g.id) from page g)
  group by p.term_id)
select g.id as id:integer!, g.term as term:text!, g.df as df:integer!, g.part as part:integer!, coalesce(c.live, 0)::bigint as live:bigint!
from page g left join counted c on c.term_id = g.id order by g.id;

-- name: tidy_forget :exec
delete from {p}.search_terms t where t.id = any(:ids::bigint[]);

-- The generation has no rows left; counting words is next.
-- name: drop_emptied :exec
update {p}.search_indexes x set began_at = null, cursor_id = 0 where x.id = :idx::integer and x.state = 'dropped';

-- name: tidy_move :exec
update {p}.search_indexes x set cursor_id = :cursor_id::bigint where x.id = :idx::integer and x.state = 'dropped';

-- name: align_done :exec
update {p}.search_lease l set model_version = :model_version::bigint where l.id = 1;

-- name: build_recount :exec
update {p}.search_indexes x set documents = :documents::bigint where x.id = :idx::integer;

-- Requests that words are counted again and words without postings are deleted (drop.c).
-- name: generation_tidy :exec
insert into {p}.search_indexes (entity_id, state) select :entity_id::bigint, 'dropped'
where not exists (select 1 from {p}.search_indexes x where x.state = 'dropped');

-- name: generation_ask_after :exec
insert into {p}.search_indexes (entity_id, state) select x.entity_id, 'building' from {p}.search_indexes x where x.id = :idx::integer
on conflict (entity_id) where state = 'building' do nothing;

-- A requested rebuild has ended: deletes the row that marks the entity's index as purged.
-- name: generation_asked :exec
delete from {p}.search_indexes x where x.entity_id = :entity_id::bigint and x.state = 'purged';

-- The index answers queries but is not updated: the error stays until a batch is indexed again.
-- name: generation_note :exec
update {p}.search_indexes x set error = :error::text where x.state = 'live' and x.error is distinct from :error::text;
