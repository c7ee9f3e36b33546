-- Rows of the lexicon (lexicon_rows.c). New words go into the last part of a key.
-- name: lexicon_last :many binary row(lexicon)
select distinct on (l.key) l.key:text, l.part:integer, l.data:bytea from {p}.search_lexicon l
where l.key = any(:keys::text[]) order by l.key, l.part desc;

-- name: lexicon_parts :many binary row(lexicon)
select l.key:text, l.part:integer, l.data:bytea
from (select distinct u.key, u.part from unnest(:keys::text[], :parts::bigint[]) as u (key, part)) k
join {p}.search_lexicon l on l.key = k.key and l.part = k.part;

-- name: lexicon_all :many binary row(lexicon)
select l.key:text, l.part:integer, l.data:bytea from {p}.search_lexicon l
where l.key = any(:keys::text[]) order by l.key, l.part;

-- The most common words of each prefix that has more than :least words.
-- name: lexicon_begin :many row(lexicon_word)
select k.i as i:bigint!, k.prefix as prefix:text!, b.id:integer, b.term:text, b.df:integer
from unnest(:prefixes::text[], :ends::text[]) with ordinality as k (prefix, behind, i)
cross join lateral (select count(*) as n from (
  select 1 from {p}.search_terms c where c.term >= k.prefix and c.term < k.behind limit :least::bigint + 1) o) n
cross join lateral (select t.id, t.term, t.df from {p}.search_terms t where t.term >= k.prefix and t.term < k.behind
  order by t.df desc, t.term limit :least::bigint) b
where n.n > :least::bigint order by 1;

-- The next words, in the order of their bytes.
-- name: lexicon_words :many
select t.id:integer, t.term:text, t.df:integer from {p}.search_terms t where t.term > :after::text order by t.term limit :most::bigint;

-- name: lexicon_put :exec
insert into {p}.search_lexicon (key, part, data)
select k.key, k.part, substring(:data::bytea from k.at::integer for k.len::integer)
from unnest(:keys::text[], :parts::bigint[], :ats::bigint[], :lens::bigint[]) as k (key, part, at, len)
on conflict (key, part) do update set data = excluded.data;

-- name: lexicon_forget :exec
delete from {p}.search_lexicon l where l.key like '*%';
