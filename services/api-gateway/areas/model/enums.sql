-- Enums are settings of kind 'enum'.

-- name: enums_list :page sort(id,name,created_at,updated_at)
select s.id, s.key as name, s.doc -> 'values' as values, s.created_at, s.updated_at
from {p}.settings s
where s.kind = 'enum'

-- name: enum_get :opt
select s.id, s.key as name, s.doc -> 'values' as values, s.created_at, s.updated_at
from {p}.settings s
where s.kind = 'enum' and s.key = $1::text

-- name: enum_add :one
insert into {p}.settings (kind, key, doc)
values ('enum', $1::text, jsonb_build_object('values', to_jsonb($2::text[])))
returning id

-- name: enum_update :one
update {p}.settings
set key = $2::text, doc = jsonb_build_object('values', to_jsonb($3::text[])), updated_at = greatest(now(), updated_at)
where kind = 'enum' and key = $1::text
returning id

-- name: enum_rename_fields :exec
update {p}.fields set options = jsonb_set(options, '{enum}', to_jsonb($2::text))
where type = 'enum' and options ->> 'enum' = $1::text

-- name: enum_drop :one
delete from {p}.settings where kind = 'enum' and key = $1::text
returning id
