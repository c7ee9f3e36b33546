-- Statements of the operator API. operator_counts reads the schema of one project, the others read the control schema.

-- name: operator_list :page sort(id,project_id,name,created_at)
select p.number as id, p.slug as project_id, p.name as name, p.state as state,
  :url::text || '/org/' || p.slug as base_url,
  p.created_at as created_at, p.updated_at as updated_at
from platform.projects p

-- name: operator_get :opt
select p.number as id, p.slug as project_id, p.name as name, p.state as state,
  :url::text || '/org/' || p.slug as base_url,
  p.created_at as created_at, p.updated_at as updated_at
from platform.projects p
where p.slug = :slug::text

-- name: operator_counts :one
select (select count(*) from {p}.users) as users, (select count(*) from {p}.entities) as entities
