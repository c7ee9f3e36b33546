-- Workflows with their newest version; the trigger shows the entity's name of today, null when it is gone.

-- part: workflow
select w.id, w.name, w.enabled, w.version,
       case when w.entity_id is null then v.doc -> 'trigger'
            else (v.doc -> 'trigger') || jsonb_build_object('entity', e.name) end as trigger,
       v.doc ->> 'start_step' as start_step, v.doc -> 'steps' as steps, w.editor_id,
       w.created_at, w.updated_at, w.next_fire_at
from {p}.workflows w
join {p}.workflow_versions v on v.workflow_id = w.id and v.version = w.version
left join {p}.entities e on e.id = w.entity_id

-- name: workflows_list :page sort(id,name,created_at,updated_at)
{workflow}
where ($1::boolean is null or w.enabled = $1::boolean) and ($2::text is null or w.trigger_kind = $2::text)

-- name: workflow_get :opt
{workflow}
where w.id = $1::bigint

-- name: workflow_exists :opt
select w.enabled from {p}.workflows w where w.id = $1::bigint

-- name: workflows_count :one
select count(*) as workflows from {p}.workflows

-- Saving: under the lock of the model, so that one save of a project comes after the other.

-- name: workflow_lock :opt
select w.version, w.enabled, w.entity_id, w.cron, w.timezone, w.next_fire_at,
       v.doc || jsonb_build_object('name', w.name) as doc, e.name as entity
from {p}.workflows w
join {p}.workflow_versions v on v.workflow_id = w.id and v.version = w.version
left join {p}.entities e on e.id = w.entity_id
where w.id = $1::bigint
for update of w

-- name: workflow_add :one
insert into {p}.workflows (name, enabled, trigger_kind, event, entity_id, category, filter, route, cron, timezone,
  next_fire_at, editor_id, editor_key_id)
values ($1::text, $2::boolean, $3::text, $4::text, $5::bigint, $6::text, $7::jsonb, $8::text, $9::text, $10::text,
  $11::timestamptz, $12::bigint, $13::bigint)
returning id, version, editor_id, editor_key_id

-- Who changes nothing of what happens ($15) is not its editor.
-- name: workflow_save :one
update {p}.workflows
set name = $1::text, enabled = $2::boolean, trigger_kind = $3::text, event = $4::text, entity_id = $5::bigint,
  category = $6::text, filter = $7::jsonb, route = $8::text, cron = $9::text, timezone = $10::text,
  next_fire_at = $11::timestamptz, editor_id = case when $15::boolean then $12::bigint else editor_id end,
  editor_key_id = case when $15::boolean then $13::bigint else editor_key_id end, version = version + 1,
  updated_at = greatest(now(), updated_at)
where id = $14::bigint
returning id, version, editor_id, editor_key_id

-- name: workflow_version_add :exec
insert into {p}.workflow_versions (workflow_id, version, doc, editor_id, editor_key_id)
values ($1::bigint, $2::integer, $3::jsonb, $4::bigint, $5::bigint)

-- name: workflow_unlisten :exec
delete from {p}.event_listeners where source = 'workflow:' || $1::bigint::text

-- name: workflow_listen :exec
insert into {p}.event_listeners (source, entity_id, event)
values ('workflow:' || $1::bigint::text, $2::bigint, $3::text)

-- name: workflow_secrets :many
select s.name from {p}.secrets s where s.name = any($1::text[])

-- name: workflow_now :one
select now() as at

-- Removing: the history stays.

-- name: workflow_remove :exec
delete from {p}.workflows w where w.id = $1::bigint

-- Versions.

-- part: version
from {p}.workflow_versions v where v.workflow_id = $1::bigint

-- name: workflow_versions_desc :many
select v.version, v.editor_id, v.created_at {version} and v.version < $2::bigint
order by v.version desc limit $3::bigint offset $4::bigint

-- name: workflow_versions_asc :many
select v.version, v.editor_id, v.created_at {version} and v.version > $2::bigint
order by v.version limit $3::bigint offset $4::bigint

-- name: workflow_versions_count :one
select count(*) as total_items {version}

-- name: workflow_version_get :opt
select v.version, v.doc ->> 'name' as name, v.doc -> 'trigger' as trigger, v.doc ->> 'start_step' as start_step,
       v.doc -> 'steps' as steps, v.editor_id, v.created_at
{version} and v.version = $2::bigint

-- The control schema: where runners look, and when. Never later than the first tick of the project.

-- name: workflow_project_due :exec
insert into platform.workflow_projects as p (number, next_fire_at) values ($1::bigint, $2::timestamptz)
on conflict (number) do update set next_fire_at = least(p.next_fire_at, excluded.next_fire_at)
