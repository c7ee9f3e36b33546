-- Pictures in other sizes and formats.

-- name: variant_get :opt
select v.key as key:text, v.size as size:bigint, v.mime_type as mime_type:text, encode(v.sha256, 'hex') as sha256:text,
  v.created_at as created_at:timestamptz
from {p}.file_variants v where v.file_id = :file_id::bigint and v.spec = :spec::text

-- Returns no row when another process has added this variant first, or when the collector has taken the key.
-- name: variant_keep :opt
with kept as (delete from {p}.file_garbage g where g.key = :key::text and not g.taken returning g.key)
insert into {p}.file_variants (file_id, spec, key, size, sha256, mime_type, width, height)
select :file_id::bigint, :spec::text, k.key, :size::bigint, :sha256::bytea, :mime_type::text, :width::bigint, :height::bigint
from kept k
on conflict (file_id, spec) do nothing
returning id as id:bigint

-- Deletes all but the newest :most variants of a file.
-- name: variants_evict :many
delete from {p}.file_variants v
where v.id in (select o.id from {p}.file_variants o where o.file_id = :file_id::bigint order by o.id desc offset :most::bigint)
returning v.key as key:text, v.size as size:bigint

-- name: variant_forget :many
delete from {p}.file_variants v where v.file_id = :file_id::bigint and v.key = :key::text
returning v.key as key:text, v.size as size:bigint
