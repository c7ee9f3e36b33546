-- Fields of one entity that the caller may see: of the entities :entities only the fields :fields (areas/model/visible_fields.h).

-- name: fields_entity :opt
select e.id:bigint from {p}.entities e where e.name = :name::text

-- name: fields_list :page sort(id,name,type,created_at,updated_at)
select f.id, f.name, f.type, f.required, f.is_unique as "unique", f.indexed, f.default_value as "default",
  f.searchable, f.is_public as "public",
  f.options || case when t.id is null then '{}' else jsonb_build_object('entity', t.name) end as options,
  f.created_at, f.updated_at
from {p}.fields f left join {p}.entities t on t.id = f.target_id
where f.entity_id = :entity_id::bigint
  and not (f.entity_id = any(:entities::bigint[]) and f.id <> all(:fields::bigint[]))

-- name: field_get :opt
select f.id, f.name, f.type, f.required, f.is_unique as "unique", f.indexed, f.default_value as "default",
  f.searchable, f.is_public as "public",
  f.options || case when t.id is null then '{}' else jsonb_build_object('entity', t.name) end as options,
  f.created_at, f.updated_at
from {p}.fields f join {p}.entities e on e.id = f.entity_id left join {p}.entities t on t.id = f.target_id
where e.name = :entity::text and f.name = :name::text
  and not (f.entity_id = any(:entities::bigint[]) and f.id <> all(:fields::bigint[]))

-- name: field_drop :exec
delete from {p}.fields where id = :id::bigint

-- name: field_drop_access :exec
update {p}.field_access set field_ids = array_remove(field_ids, :field_id::bigint)
where entity_id = :entity_id::bigint and :field_id::bigint = any(field_ids)
