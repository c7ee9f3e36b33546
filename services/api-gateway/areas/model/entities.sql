-- Entities with the fields that the caller may see: of the entities :entities only the fields :fields (areas/model/visible_fields.h).

-- part: entity
select e.id, e.name, e.label, e.row_level_security, e.public_read, e.searchable,
  e.history_days is not null as history, e.history_days,
  (select coalesce(json_agg(json_build_object('id', f.id, 'name', f.name, 'type', f.type, 'required', f.required,
      'unique', f.is_unique, 'indexed', f.indexed, 'default', f.default_value, 'searchable', f.searchable,
      'public', f.is_public,
      'options', f.options || case when t.id is null then '{}' else jsonb_build_object('entity', t.name) end,
      'created_at', to_char(f.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'updated_at', to_char(f.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by f.id), '[]')
    from {p}.fields f left join {p}.entities t on t.id = f.target_id where f.entity_id = e.id
      and not (f.entity_id = any(:entities::bigint[]) and f.id <> all(:fields::bigint[]))) as fields,
  e.created_at, e.updated_at
from {p}.entities e

-- name: entities_list :page sort(id,name,created_at,updated_at)
{entity}

-- name: entity_get :opt
{entity}
where e.name = :name::text

-- name: entity_add :one
insert into {p}.entities (name, label, row_level_security, public_read, searchable, history_days)
values (:name::text, :label::text?, :row_level_security::boolean, :public_read::boolean, :searchable::boolean,
  :history_days::integer?)
returning id as id:bigint

-- name: entity_update :exec
update {p}.entities
set name = :name::text, label = :label::text?, row_level_security = :row_level_security::boolean,
  public_read = :public_read::boolean, searchable = :searchable::boolean, history_days = :history_days::integer?,
  updated_at = greatest(now(), updated_at)
where id = :id::bigint

-- name: entity_views :many
select v.name:text from {p}.materialized_views v where v.entity_id = :entity_id::bigint order by v.name limit 20

-- Rows that refer to an entity by its id are deleted with the entity. A foreign key deletes the fields.

-- name: entity_drop_role_permissions :exec
delete from {p}.role_permissions where entity_id = :entity_id::bigint

-- name: entity_drop_key_permissions :exec
delete from {p}.api_key_permissions where entity_id = :entity_id::bigint

-- name: entity_drop_field_access :exec
delete from {p}.field_access where entity_id = :entity_id::bigint

-- name: entity_drop_grants :exec
delete from {p}.record_grants where entity_id = :entity_id::bigint

-- A device that also belongs to a user remains a device of the user.
-- name: entity_drop_devices :exec
with kept as (
  update {p}.push_devices k set owner_entity_id = null, owner_record_id = null
  where k.owner_entity_id = :entity_id::bigint and k.user_id is not null)
delete from {p}.push_devices d where d.owner_entity_id = :entity_id::bigint and d.user_id is null

-- name: entity_drop_locks :exec
delete from {p}.record_locks where entity_id = :entity_id::bigint

-- name: entity_drop_listeners :exec
delete from {p}.event_listeners where entity_id = :entity_id::bigint

-- The entity's workflows are only disabled: users can still read them and give them another entity.
-- name: entity_drop_workflows :exec
update {p}.workflows set enabled = false, updated_at = greatest(now(), updated_at)
where entity_id = :entity_id::bigint and enabled

-- name: entity_drop :exec
delete from {p}.entities where id = :id::bigint
