-- Materialised views for the gateway. The workflow runner computes their rows (runner_views.sql).

-- part: view
v.id, v.name, v.description, e.name as entity, v.definition -> 'aggregates' as aggregates,
  v.definition -> 'group_by' as group_by, nullif(v.definition -> 'filter', 'null'::jsonb) as filter, v.timezone, v.cron,
  v.on_change,
  array(select s.role_id from {p}.materialized_view_roles s where s.view_id = v.id order by s.role_id) as role_ids,
  v.columns,
  case when v.lease_until > now() then 'refreshing' when v.requested_at is not null then 'pending'
    when v.failed_at is not null then 'failed' when v.generation = 0 then 'pending' else 'ready' end as status,
  v.refreshed_at, v.refresh_ms, v.row_count, v.next_refresh_at, v.error, v.version, v.created_by, v.created_at, v.updated_at,
  {made}

-- Columns that decide whether the caller may read the rows of the live generation. _is_shared: with a role of the caller.
-- part: made
v.entity_id as _entity_id, v.query as _query, v.generation as _generation, v.made_generation = v.generation and v.made_definition > 0 as _is_known, v.made_definition = v.definition_number as _is_current,
  v.made_entities as _made_entities, v.made_fields as _made_fields, {shared} as _is_shared

-- part: shared
exists (select 1 from {p}.materialized_view_roles s where s.view_id = v.id and s.role_id = any(:role_ids::bigint[]))

-- name: views_list :page sort(id,name,created_at,updated_at,refreshed_at)
select {view} from {p}.materialized_views v join {p}.entities e on e.id = v.entity_id

-- name: views_count :one
select count(*) as views:bigint from {p}.materialized_views

-- name: view_get :opt
select {view} from {p}.materialized_views v join {p}.entities e on e.id = v.entity_id where v.name = :name::text

-- name: view_load :opt
select v.id, v.columns, {made}
from {p}.materialized_views v where v.name = :name::text

-- name: view_lock :opt
select v.id:bigint, v.name:text, v.description:text?, v.entity_id:bigint, v.definition:jsonb, v.timezone:text, v.cron:text?,
  v.on_change:boolean, v.query:jsonb,
  exists (select 1 from {p}.materialized_view_roles s where s.view_id = v.id) as is_shared:boolean
from {p}.materialized_views v where v.name = :name::text for update

-- Members of a view for the audit log. The definition is left out because it names fields.
-- name: view_audit_members :one
select v.name, v.description, e.name as entity, v.timezone, v.cron, v.on_change,
  array(select s.role_id from {p}.materialized_view_roles s where s.view_id = v.id order by s.role_id) as role_ids
from {p}.materialized_views v join {p}.entities e on e.id = v.entity_id where v.id = :id::bigint

-- name: view_add :opt
insert into {p}.materialized_views
  (name, description, entity_id, definition, query, timezone, cron, on_change, next_refresh_at, requested_at, created_by)
values (:name::text, :description::text?, :entity_id::bigint, :definition::jsonb, :query::jsonb, :timezone::text,
  :cron::text?, :on_change::boolean, :next_refresh_at::timestamptz?, now(), :created_by::bigint?)
on conflict (name) do nothing
returning id as id:bigint

-- The rows stay as they are until the next refresh. A change of the definition requests a refresh.
-- name: view_save :exec
update {p}.materialized_views v
set name = :name::text, description = :description::text?, entity_id = :entity_id::bigint, definition = :definition::jsonb,
  query = :query::jsonb, timezone = :timezone::text, cron = :cron::text?, on_change = :on_change::boolean,
  next_refresh_at = :next_refresh_at::timestamptz?,
  definition_number = v.definition_number + :redefined::boolean::int,
  requested_at = case when :redefined::boolean then now() else v.requested_at end,
  failed_at = case when :redefined::boolean then null else v.failed_at end,
  error = case when :redefined::boolean then null else v.error end,
  version = v.version + 1, updated_at = greatest(now(), v.updated_at)
where v.id = :id::bigint

-- name: view_find_other_name :opt
select v.id from {p}.materialized_views v where v.name = :name::text and v.id <> :id::bigint

-- name: view_remove :exec
delete from {p}.materialized_views v where v.id = :id::bigint

-- name: view_request :opt
update {p}.materialized_views v set requested_at = now() where v.name = :name::text returning v.id as id:bigint

-- name: view_roles_clear :exec
delete from {p}.materialized_view_roles s where s.view_id = :view_id::bigint

-- name: view_roles_add :exec
insert into {p}.materialized_view_roles (view_id, role_id)
select :view_id::bigint, o.id from {p}.roles o where o.id = any(:role_ids::bigint[]) order by o.id

-- name: view_roles_known :one
select count(*) as known:bigint from {p}.roles o where o.id = any(:ids::bigint[])

-- name: view_project_put :exec
insert into platform.view_projects (number) values (:number::bigint) on conflict (number) do nothing
