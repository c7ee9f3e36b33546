-- Enums are settings of kind 'enum'.

-- name: enums_list :page sort(id,name,created_at,updated_at)
select s.id, s.key as name, s.doc -> 'values' as values, s.created_at, s.updated_at
from {p}.settings s
where s.kind = 'enum'

-- name: enum_get :opt
select s.id, s.key as name, s.doc -> 'values' as values, s.created_at, s.updated_at
from {p}.settings s
where s.kind = 'enum' and s.key = :name::text

-- name: enum_add :one row(enum_id)
insert into {p}.settings (kind, key, doc)
values ('enum', :name::text, jsonb_build_object('values', to_jsonb(:values::text[])))
returning id as id:bigint

-- name: enum_update :one row(enum_id)
update {p}.settings
set key = :name::text, doc = jsonb_build_object('values', to_jsonb(:values::text[])),
  updated_at = greatest(now(), updated_at)
where kind = 'enum' and key = :old::text
returning id as id:bigint

-- name: enum_rename_fields :exec
update {p}.fields set options = jsonb_set(options, '{enum}', to_jsonb(:name::text))
where type = 'enum' and options ->> 'enum' = :old::text

-- name: enum_drop :one row(enum_id)
delete from {p}.settings where kind = 'enum' and key = :name::text
returning id as id:bigint
