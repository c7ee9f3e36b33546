-- Rows of the lexicon. The last part of a key takes what is new.
-- name: lexicon_last :many row(lexicon)
select distinct on (l.key) l.key:text, l.part:integer, l.data:bytea from {p}.search_lexicon l
where l.key = any(:keys::text[]) order by l.key, l.part desc;

-- name: lexicon_parts :many row(lexicon)
select l.key:text, l.part:integer, l.data:bytea from unnest(:keys::text[], :parts::bigint[]) as k (key, part)
join {p}.search_lexicon l on l.key = k.key and l.part = k.part;

-- name: lexicon_all :many row(lexicon)
select l.key:text, l.part:integer, l.data:bytea from {p}.search_lexicon l
where l.key = any(:keys::text[]) order by l.key, l.part;

-- The commonest words of each prefix, where it has more than :least.
-- name: lexicon_begin :many row(lexicon_word)
select k.i as i:bigint!, k.prefix as prefix:text!, b.id:integer, b.term:text, b.df:integer
from unnest(:prefixes::text[], :ends::text[]) with ordinality as k (prefix, behind, i)
cross join lateral (select count(*) as n from (
  select 1 from {p}.search_terms c where c.term >= k.prefix and c.term < k.behind limit :least::bigint + 1) o) n
cross join lateral (select t.id, t.term, t.df from {p}.search_terms t where t.term >= k.prefix and t.term < k.behind
  order by t.df desc, t.term limit :least::bigint) b
where n.n > :least::bigint order by 1;

-- The same of all prefixes of so many letters.
-- name: lexicon_every :many row(lexicon_word)
select dense_rank() over (order by r.prefix) as i:bigint!, r.prefix as prefix:text!, r.id:integer, r.term:text, r.df:integer
from (select left(t.term, :letters::integer) as prefix, t.id, t.term, t.df,
    row_number() over (partition by left(t.term, :letters::integer) order by t.df desc, t.term) as place,
    count(*) over (partition by left(t.term, :letters::integer)) as words
  from {p}.search_terms t where t.term < '@' or t.term >= 'A') r
where r.words > :least::bigint and r.place <= :least::bigint and char_length(r.prefix) = :letters::integer
order by r.prefix;

-- name: lexicon_put :exec
insert into {p}.search_lexicon (key, part, data)
select k.key, k.part, substring(:data::bytea from k.at::integer for k.len::integer)
from unnest(:keys::text[], :parts::bigint[], :ats::bigint[], :lens::bigint[]) as k (key, part, at, len)
on conflict (key, part) do update set data = excluded.data;

-- name: lexicon_forget :exec
delete from {p}.search_lexicon l where l.key like '*%';
