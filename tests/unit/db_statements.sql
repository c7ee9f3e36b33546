-- Statements of test_db_statements.c: every type, as a parameter and as a column.

-- name: st_all :one
select :big::bigint as big:bigint, :big_none::bigint? as big_none:bigint?, :whole::integer as whole:integer,
  :flag::boolean as flag:boolean, :flag_none::boolean? as flag_none:boolean?, :real::float8 as real:float8,
  :real_none::float8? as real_none:float8?, :words::text as words:text, :words_none::text? as words_none:text?,
  :doc::jsonb as doc:jsonb, :sum::numeric as sum:numeric, :at::timestamptz as at:timestamptz,
  :at_none::timestamptz? as at_none:timestamptz?, :bytes::bytea as bytes:bytea, :ids::bigint[] as ids:bigint[],
  :names::text[] as names:text[], :ids_none::bigint[]? as ids_none:bigint[]?,
  :names_none::text[]? as names_none:text[]?;

-- A parameter that occurs twice has one number.
-- name: st_again :one
select :second::text || :first::text || :second::text as joined:text;

-- name: st_none :one
select 7::bigint as id:bigint;

-- Two statements share a struct of parameters and one of rows; the second names its parameters in another order.
-- name: st_one :opt args(st_key) row(st_item)
select x.id as id:bigint, x.name as name:text? from (select :id::bigint as id, :name::text? as name) x;

-- name: st_other :opt args(st_key) row(st_item)
select x.id + 1 as id:bigint, x.name as name:text? from (select :name::text? as name, :id::bigint as id) x;

-- name: st_many :many
select n::bigint as n:bigint from generate_series(1, :last::bigint) n;

-- name: st_page :page sort(n)
select n::bigint as n:bigint from generate_series(1, :last::bigint) n;

-- Values in PostgreSQL's binary format, and a row of nulls.
-- name: st_binary :many binary
select s.big:bigint?, s.whole:integer?, s.small:smallint?, s.flag:boolean?, s.words:text?, s.bytes:bytea?
from (values (:big::bigint, :whole::integer, (-3)::smallint, :flag::boolean, :words::text, :bytes::bytea), (null, null, null, null, null, null))
  as s (big, whole, small, flag, words, bytes);

-- The parameters that a keyset page adds follow those of the list.
-- name: st_walk :many args(st_walk)
select n::bigint as n:bigint from generate_series(1, :last::bigint) n
where n > :behind::bigint limit :limit::bigint offset :offset::bigint;

-- name: st_walk_count :one args(st_walk)
select count(*) as total_items from generate_series(1, :last::bigint) n;
