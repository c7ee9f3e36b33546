-- Fields of one entity as they are shown: of the entities $1 only the fields $2 (areas/model/shown.h).

-- name: fields_entity :opt
select e.id from {p}.entities e where e.name = $1::text

-- name: fields_list :page sort(id,name,type,created_at,updated_at)
select f.id, f.name, f.type, f.required, f.is_unique as "unique", f.indexed, f.default_value as "default",
  f.searchable, f.is_public as "public",
  f.options || case when t.id is null then '{}' else jsonb_build_object('entity', t.name) end as options,
  f.created_at, f.updated_at
from {p}.fields f left join {p}.entities t on t.id = f.target_id
where f.entity_id = $3::bigint and not (f.entity_id = any($1::bigint[]) and f.id <> all($2::bigint[]))

-- name: field_get :opt
select f.id, f.name, f.type, f.required, f.is_unique as "unique", f.indexed, f.default_value as "default",
  f.searchable, f.is_public as "public",
  f.options || case when t.id is null then '{}' else jsonb_build_object('entity', t.name) end as options,
  f.created_at, f.updated_at
from {p}.fields f join {p}.entities e on e.id = f.entity_id left join {p}.entities t on t.id = f.target_id
where e.name = $3::text and f.name = $4::text and not (f.entity_id = any($1::bigint[]) and f.id <> all($2::bigint[]))

-- name: field_drop :exec
delete from {p}.fields where id = $1::bigint

-- name: field_drop_access :exec
update {p}.field_access set field_ids = array_remove(field_ids, $2::bigint)
where entity_id = $1::bigint and $2::bigint = any(field_ids)
