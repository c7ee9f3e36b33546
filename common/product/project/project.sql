-- Control rows (schema platform) and, in statements of their own, what a project keeps of itself.

-- name: project_by_slug :opt
select p.number as number, p.slug as slug, p.name as name, p.server as server, p.partition as partition,
  p.epoch as epoch, p.created_at as created_at, p.updated_at as updated_at
from platform.projects p where p.slug = $1::text and p.state = 'active';

-- name: project_by_number :opt
select p.number as number, p.slug as slug, p.name as name, p.server as server, p.partition as partition,
  p.epoch as epoch, p.created_at as created_at, p.updated_at as updated_at
from platform.projects p where p.number = $1::bigint and p.state = 'active';

-- name: project_slug :opt
select p.slug as slug from platform.projects p where p.number = $1::bigint and p.state = 'active';

-- name: project_touch :opt
update platform.projects as p set epoch = p.epoch + 1
where p.number = $1::bigint and p.state = 'active'
returning p.number as number, p.slug as slug, p.name as name, p.server as server, p.partition as partition,
  p.epoch as epoch, p.created_at as created_at, p.updated_at as updated_at;

-- name: project_epochs :many
select p.number as number, p.epoch as epoch
from platform.projects p where p.number = any($1::bigint[]) and p.state = 'active';

-- name: project_rename :exec
update platform.projects set name = coalesce($2::text, name), updated_at = greatest(now(), updated_at) where number = $1::bigint;

-- name: project_state :one
select m.model_version as model_version, s.doc as doc, s.sealed as sealed,
  array(select k.id::bigint from {p}.data_keys k order by k.id) as key_ids,
  array(select encode(k.wrapped, 'hex') from {p}.data_keys k order by k.id) as key_texts
from {p}.meta m left join {p}.settings s on s.kind = 'setting' and s.key = 'project';

-- name: project_settings_lock :one
select s.doc as doc, s.sealed as sealed
from {p}.settings s where s.kind = 'setting' and s.key = 'project' for update;

-- name: project_settings_set :exec
update {p}.settings set doc = $1::jsonb, sealed = $2::bytea, updated_at = greatest(now(), updated_at)
where kind = 'setting' and key = 'project';
