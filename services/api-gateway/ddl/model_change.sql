-- The frame of every model change, and the rows of fields.

-- A waiting ALTER holds up every request behind it, and must give up before their deadlock check (1 s).
-- name: model_patience :one
select set_config('lock_timeout', '800ms', true) as lock_timeout

-- name: model_lock :one
select m.model_version from {p}.meta m where m.id = 1 for update

-- name: model_bump :exec
update {p}.meta set model_version = model_version + 1 where id = 1

-- name: model_field_add :one
insert into {p}.fields (entity_id, name, type, required, is_unique, indexed, default_value, searchable, is_public,
  options, target_id)
values ($1::bigint, $2::text, $3::text, $4::boolean, $5::boolean, $6::boolean, $7::jsonb, $8::boolean, $9::boolean,
  $10::jsonb, $11::bigint)
returning id

-- name: model_field_update :exec
update {p}.fields
set name = $2::text, type = $3::text, required = $4::boolean, is_unique = $5::boolean, indexed = $6::boolean,
  default_value = $7::jsonb, searchable = $8::boolean, is_public = $9::boolean, options = $10::jsonb,
  target_id = $11::bigint, updated_at = greatest(now(), updated_at)
where id = $1::bigint
