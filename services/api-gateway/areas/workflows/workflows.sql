-- Workflows with their newest version. The trigger shows the entity's current name, null when the entity was deleted.

-- part: workflow
select w.id:bigint, w.name:text, w.enabled:boolean, w.version:integer,
       case when w.entity_id is null then v.doc -> 'trigger'
            else (v.doc -> 'trigger') || jsonb_build_object('entity', e.name) end as trigger:jsonb,
       v.doc ->> 'start_step' as start_step:text, v.doc -> 'steps' as steps:jsonb, w.editor_id:bigint,
       w.created_at:timestamptz, w.updated_at:timestamptz, w.next_fire_at:timestamptz?
from {p}.workflows w
join {p}.workflow_versions v on v.workflow_id = w.id and v.version = w.version
left join {p}.entities e on e.id = w.entity_id

-- name: workflows_list :page sort(id,name,created_at,updated_at) row(workflow)
{workflow}
where (:enabled::boolean? is null or w.enabled = :enabled::boolean)
  and (:kind::text? is null or w.trigger_kind = :kind::text)

-- name: workflow_get :opt row(workflow)
{workflow}
where w.id = :id::bigint

-- name: workflow_route_known :many
select w.id from {p}.workflows w where w.route = :route::text and w.enabled

-- name: workflow_exists :opt
select w.enabled from {p}.workflows w where w.id = :id::bigint

-- name: workflows_count :one
select count(*) as workflows:bigint from {p}.workflows

-- Saving. The transaction holds the lock of the model, so saves of one project run one after the other.

-- name: workflow_lock :opt
select w.version:integer, w.enabled:boolean, w.entity_id:bigint?, w.cron:text?, w.timezone:text?,
       w.next_fire_at:timestamptz?, v.doc || jsonb_build_object('name', w.name) as doc:jsonb, e.name as entity:text?
from {p}.workflows w
join {p}.workflow_versions v on v.workflow_id = w.id and v.version = w.version
left join {p}.entities e on e.id = w.entity_id
where w.id = :id::bigint
for update of w

-- Saving a workflow with the :id 0 creates it.
-- name: workflow_add :one args(workflow) row(saved_workflow)
insert into {p}.workflows (name, enabled, trigger_kind, event, entity_id, category, filter, route, cron, timezone,
  next_fire_at, editor_id, editor_key_id)
select :name::text, :enabled::boolean, :trigger_kind::text, :event::text?, :entity_id::bigint?, :category::text?,
  :filter::jsonb?, :route::text?, :cron::text?, :timezone::text?, :next_fire_at::timestamptz?, :editor_id::bigint,
  :editor_key_id::bigint?
where :adopts::boolean and :id::bigint = 0
returning id as id:bigint, version as version:integer, editor_id as editor_id:bigint,
  editor_key_id as editor_key_id:bigint?

-- The caller becomes the editor only if the save changes what the workflow does (:adopts).
-- name: workflow_save :one args(workflow) row(saved_workflow)
update {p}.workflows
set name = :name::text, enabled = :enabled::boolean, trigger_kind = :trigger_kind::text, event = :event::text?,
  entity_id = :entity_id::bigint?, category = :category::text?, filter = :filter::jsonb?, route = :route::text?,
  cron = :cron::text?, timezone = :timezone::text?, next_fire_at = :next_fire_at::timestamptz?,
  editor_id = case when :adopts::boolean then :editor_id::bigint else editor_id end,
  editor_key_id = case when :adopts::boolean then :editor_key_id::bigint? else editor_key_id end,
  version = version + 1, updated_at = greatest(now(), updated_at)
where id = :id::bigint
returning id as id:bigint, version as version:integer, editor_id as editor_id:bigint,
  editor_key_id as editor_key_id:bigint?

-- name: workflow_version_add :exec
insert into {p}.workflow_versions (workflow_id, version, doc, editor_id, editor_key_id)
values (:workflow_id::bigint, :version::integer, :doc::jsonb, :editor_id::bigint, :editor_key_id::bigint?)

-- name: workflow_unlisten :exec
delete from {p}.event_listeners where source = 'workflow:' || :workflow_id::bigint::text

-- name: workflow_listen :exec
insert into {p}.event_listeners (source, entity_id, event)
values ('workflow:' || :workflow_id::bigint::text, :entity_id::bigint, :event::text)

-- name: workflow_secrets :many
select s.name:text from {p}.secrets s where s.name = any(:names::text[])

-- One row for each integration and each of its operations that is named; operation '' when the integration has none of them.
-- The integrations are locked until the workflow is saved.
-- name: workflow_integrations :many
select i.name:text, coalesce(o.name, '') as operation:text
from (select k.name, k.operations from {p}.integrations k where k.name = any(:names::text[]) order by k.id for share) i
  left join lateral (select x.value ->> 'name' as name from jsonb_array_elements(i.operations) x (value)
                     where x.value ->> 'name' = any(:operations::text[])) o on true

-- name: workflow_now :one
select now() as at:timestamptz

-- Removing. The jobs of the workflow stay, its versions do not.

-- name: workflow_remove :exec
delete from {p}.workflows w where w.id = :id::bigint

-- Versions.

-- part: version
from {p}.workflow_versions v where v.workflow_id = :workflow_id::bigint

-- name: workflow_versions_desc :many args(workflow_versions)
select v.version, v.editor_id, v.created_at {version} and v.version < :behind::bigint
order by v.version desc limit :limit::bigint offset :offset::bigint

-- name: workflow_versions_asc :many args(workflow_versions)
select v.version, v.editor_id, v.created_at {version} and v.version > :behind::bigint
order by v.version limit :limit::bigint offset :offset::bigint

-- name: workflow_versions_count :one args(workflow_versions)
select count(*) as total_items {version}

-- name: workflow_version_get :opt
select v.version, v.doc ->> 'name' as name, v.doc -> 'trigger' as trigger, v.doc ->> 'start_step' as start_step,
       v.doc -> 'steps' as steps, v.editor_id, v.created_at
{version} and v.version = :version::bigint

-- The control schema: which projects runners poll, and when. next_fire_at is never later than the project's first tick.

-- name: workflow_project_due :exec
insert into platform.workflow_projects as p (number, next_fire_at) values (:number::bigint, :next_fire_at::timestamptz?)
on conflict (number) do update set next_fire_at = least(p.next_fire_at, excluded.next_fire_at)
