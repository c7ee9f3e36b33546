-- Control rows (schema platform), and in separate statements the settings and state in a project's own schema.

-- name: project_by_slug :opt row(project)
select p.number:bigint, p.slug:text, p.name:text, p.server:text, p.partition:smallint, p.epoch:bigint,
  p.created_at:timestamptz, p.updated_at:timestamptz from platform.projects p where p.slug = :slug::text
  and p.state = 'active';

-- name: project_by_number :opt args(project_key) row(project)
select p.number:bigint, p.slug:text, p.name:text, p.server:text, p.partition:smallint, p.epoch:bigint,
  p.created_at:timestamptz, p.updated_at:timestamptz from platform.projects p where p.number = :number::bigint
  and p.state = 'active';

-- name: project_slug :opt
select p.slug:text from platform.projects p where p.number = :number::bigint and p.state = 'active';

-- name: project_touch :opt args(project_key) row(project)
update platform.projects as p set epoch = p.epoch + 1
where p.number = :number::bigint and p.state = 'active'
returning p.number:bigint, p.slug:text, p.name:text, p.server:text, p.partition:smallint, p.epoch:bigint,
  p.created_at:timestamptz, p.updated_at:timestamptz;

-- name: project_epochs :many
select p.number:bigint, p.epoch:bigint from platform.projects p where p.number = any(:numbers::bigint[])
  and p.state = 'active';

-- name: project_rename :exec
update platform.projects set name = coalesce(:name::text?, name), updated_at = greatest(now(), updated_at)
where number = :number::bigint;

-- name: project_state :one
select m.model_version:bigint, s.doc:jsonb?, s.sealed:bytea?, {p}.text_collation() as collation:text!,
  array(select k.id::bigint from {p}.data_keys k order by k.id) as key_ids:bigint[],
  array(select encode(k.wrapped, 'hex') from {p}.data_keys k order by k.id) as key_texts:text[]
from {p}.meta m left join {p}.settings s on s.kind = 'setting' and s.key = 'project';

-- Returns the locale in PostgreSQL's spelling, which {p}.text_collation() compares with (0003_model.sql).
-- name: project_locale :opt
select left(c.collname::text, -6) as locale:text! from pg_catalog.pg_collation c
where lower(c.collname) = lower(:locale::text) || '-x-icu' and c.collnamespace = 'pg_catalog'::regnamespace
  and c.collisdeterministic and c.collprovider = 'i';

-- name: project_logo :opt
select f.id:bigint from {p}.files f
where f.id = :id::bigint and f.is_public
  and f.mime_type in ('image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif');

-- name: project_settings_lock :one
select s.doc:jsonb?, s.sealed:bytea?
from {p}.settings s where s.kind = 'setting' and s.key = 'project' for update;

-- Materialised views are sorted by the locale. Rebuild them when every process knows the new locale, after five seconds.
-- name: project_views_again :exec
update {p}.materialized_views set requested_at = now() + interval '5 seconds';

-- name: project_settings_set :exec
update {p}.settings set doc = :doc::jsonb, sealed = :sealed::bytea, updated_at = greatest(now(), updated_at)
where kind = 'setting' and key = 'project';
