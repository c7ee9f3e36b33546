-- Charts.

-- part: chart
select c.id, c.name, c.description, e.name as entity, v.name as view, c.definition -> 'kind' as kind,
  c.definition -> 'aggregates' as aggregates, c.definition -> 'group_by' as group_by,
  nullif(c.definition -> 'filter', 'null'::jsonb) as filter, nullif(c.definition -> 'sort', 'null'::jsonb) as sort,
  c.definition -> 'limit' as "limit", c.definition -> 'timezone' as timezone,
  nullif(c.definition -> 'period', 'null'::jsonb) as period, c.definition -> 'compare' as compare, c.version, c.created_by,
  c.created_at, c.updated_at, c.entity_id as _chart_entity_id, c.definition as _definition, {made}
from {p}.charts c left join {p}.entities e on e.id = c.entity_id left join {p}.materialized_views v on v.id = c.view_id

-- Columns that decide whether the caller may read the rows of a view; the same as in views.sql.
-- part: made
v.entity_id as _entity_id, v.query as _query, v.generation as _generation, v.made_generation = v.generation and v.made_definition > 0 as _is_known,
  v.made_definition = v.definition_number as _is_current, v.made_entities as _made_entities, v.made_fields as _made_fields,
  exists (select 1 from {p}.materialized_view_roles s where s.view_id = v.id and s.role_id = any(:role_ids::bigint[]))
    as _is_shared

-- name: charts_list :page sort(id,name,created_at,updated_at)
{chart}
where (:entity_id::bigint? is null or c.entity_id = :entity_id::bigint)

-- name: charts_count :one
select count(*) as charts:bigint from {p}.charts

-- name: chart_get :opt
{chart} where c.id = :id::bigint

-- name: chart_load :opt row(chart)
select c.id:bigint, c.name:text, c.description:text?, c.entity_id:bigint?,
  c.view_id:bigint?,
  (select m.name from {p}.materialized_views m where m.id = c.view_id) as view:text?, c.definition:jsonb, c.version:bigint
from {p}.charts c where c.id = :id::bigint

-- name: chart_lock :opt row(chart)
select c.id:bigint, c.name:text, c.description:text?, c.entity_id:bigint?,
  c.view_id:bigint?,
  (select m.name from {p}.materialized_views m where m.id = c.view_id) as view:text?, c.definition:jsonb, c.version:bigint
from {p}.charts c where c.id = :id::bigint for update

-- name: chart_add :one
insert into {p}.charts (name, description, entity_id, view_id, definition, created_by)
values (:name::text, :description::text?, :entity_id::bigint?, :view_id::bigint?, :definition::jsonb, :created_by::bigint?)
returning id as id:bigint

-- name: chart_save :exec
update {p}.charts c
set name = :name::text, description = :description::text?, entity_id = :entity_id::bigint?, view_id = :view_id::bigint?,
  definition = :definition::jsonb, version = c.version + 1, updated_at = greatest(now(), c.updated_at)
where c.id = :id::bigint

-- name: chart_remove :opt
delete from {p}.charts c where c.id = :id::bigint returning c.id

-- The date in a time zone at :until, or now when :until is null.
-- name: chart_today :one
select to_char(coalesce(:until::timestamptz?, now()) at time zone :timezone::text, 'YYYY-MM-DD') as today:text
