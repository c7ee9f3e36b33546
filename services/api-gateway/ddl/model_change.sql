-- The transaction around a model change, and the rows of fields.

-- A waiting ALTER blocks all later requests for the table. The timeout must end before their deadlock check (1 s).
-- name: model_set_timeout :one
select set_config('lock_timeout', '800ms', true) as lock_timeout

-- name: model_lock :one
select m.model_version:bigint from {p}.meta m where m.id = 1 for update

-- name: model_bump :exec
update {p}.meta set model_version = model_version + 1 where id = 1

-- :id is the id of the entity.
-- name: model_field_add :one args(model_field)
insert into {p}.fields (entity_id, name, type, required, is_unique, indexed, default_value, searchable, is_public,
  options, target_id)
values (:id::bigint, :name::text, :type::text, :required::boolean, :is_unique::boolean, :indexed::boolean,
  :default_value::jsonb?, :searchable::boolean, :is_public::boolean, :options::jsonb, :target_id::bigint?)
returning id as id:bigint

-- name: model_field_update :exec args(model_field)
update {p}.fields
set name = :name::text, type = :type::text, required = :required::boolean, is_unique = :is_unique::boolean,
  indexed = :indexed::boolean, default_value = :default_value::jsonb?, searchable = :searchable::boolean,
  is_public = :is_public::boolean, options = :options::jsonb, target_id = :target_id::bigint?,
  updated_at = greatest(now(), updated_at)
where id = :id::bigint
