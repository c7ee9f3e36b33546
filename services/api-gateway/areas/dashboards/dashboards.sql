-- Dashboards, their widgets and home dashboards. :everything is true for callers that see all dashboards.

-- part: widget
jsonb_build_object('id', w.id, 'kind', w.kind, 'title', w.title, 'x', w.x, 'y', w.y, 'width', w.width, 'height', w.height,
  'chart_id', w.chart_id, 'entity', (select e.name from {p}.entities e where e.id = w.entity_id), 'text', w.content -> 'text',
  'url', w.content -> 'url', 'filter', w.content -> 'filter', 'fields', w.content -> 'fields', 'sort', w.content -> 'sort',
  'limit', w.content -> 'limit')

-- part: seen
(:everything::boolean or d.owner_id = :user_id::bigint
  or exists (select 1 from {p}.dashboard_roles s where s.dashboard_id = d.id and s.role_id = any(:role_ids::bigint[])))

-- part: dashboard
d.id, d.name, d.description, d.owner_id,
  array(select s.role_id from {p}.dashboard_roles s where s.dashboard_id = d.id order by s.role_id) as role_ids,
  (:everything::boolean or coalesce(d.owner_id = :user_id::bigint, false)) as can_edit

-- name: dashboards_list :page sort(id,name,created_at,updated_at)
select {dashboard}, (select count(*) from {p}.dashboard_widgets w where w.dashboard_id = d.id) as widget_count, d.version,
  d.created_at, d.updated_at
from {p}.dashboards d where {seen}

-- name: dashboards_count :one
select count(*) as dashboards:bigint from {p}.dashboards

-- name: dashboard_get :opt args(dashboard)
select {dashboard},
  coalesce((select jsonb_agg({widget} order by w.y, w.x, w.id) from {p}.dashboard_widgets w where w.dashboard_id = d.id),
    '[]'::jsonb) as widgets, d.version, d.created_at, d.updated_at
from {p}.dashboards d where d.id = :id::bigint and {seen}

-- name: dashboard_lock :opt args(dashboard)
select d.name:text, d.description:text?, d.owner_id:bigint?, d.version:bigint
from {p}.dashboards d where d.id = :id::bigint and {seen} for update

-- name: dashboard_visible :opt args(dashboard)
select d.owner_id:bigint? from {p}.dashboards d where d.id = :id::bigint and {seen}

-- name: dashboard_add :one
insert into {p}.dashboards (name, description, owner_id) values (:name::text, :description::text?, :owner_id::bigint?)
returning id as id:bigint

-- name: dashboard_save :exec
update {p}.dashboards d
set name = :name::text, description = :description::text?, version = d.version + 1, updated_at = greatest(now(), d.updated_at)
where d.id = :id::bigint

-- name: dashboard_version_raise :exec
update {p}.dashboards d set version = d.version + 1, updated_at = greatest(now(), d.updated_at) where d.id = :id::bigint

-- name: dashboard_remove :exec
delete from {p}.dashboards d where d.id = :id::bigint

-- name: dashboard_roles_clear :exec
delete from {p}.dashboard_roles s where s.dashboard_id = :dashboard_id::bigint

-- name: dashboard_roles_add :exec
insert into {p}.dashboard_roles (dashboard_id, role_id)
select :dashboard_id::bigint, o.id from {p}.roles o where o.id = any(:role_ids::bigint[]) order by o.id

-- name: roles_known :one
select count(*) as known:bigint from {p}.roles o where o.id = any(:ids::bigint[])

-- name: widget_positions :many
select w.id:bigint, w.x:integer, w.y:integer, w.width:integer, w.height:integer
from {p}.dashboard_widgets w where w.dashboard_id = :dashboard_id::bigint order by w.id

-- name: widget_get :opt
select {widget} as widget:jsonb!
from {p}.dashboard_widgets w where w.id = :id::bigint and w.dashboard_id = :dashboard_id::bigint

-- name: widget_add :one
insert into {p}.dashboard_widgets (dashboard_id, kind, title, x, y, width, height, chart_id, entity_id, content)
values (:dashboard_id::bigint, :kind::text, :title::text?, :x::integer, :y::integer, :width::integer, :height::integer,
  :chart_id::bigint?, :entity_id::bigint?, :content::jsonb)
returning id as id:bigint

-- Without :kind the widget keeps its kind, chart, entity and content.
-- name: widget_save :exec
update {p}.dashboard_widgets w
set kind = coalesce(:kind::text?, w.kind), title = case when :retitled::boolean then :title::text? else w.title end,
  x = :x::integer, y = :y::integer, width = :width::integer, height = :height::integer,
  chart_id = case when :kind::text? is null then w.chart_id else :chart_id::bigint? end,
  entity_id = case when :kind::text? is null then w.entity_id else :entity_id::bigint? end,
  content = coalesce(:content::jsonb?, w.content)
where w.id = :id::bigint

-- name: widgets_place :exec
update {p}.dashboard_widgets w set x = n.x, y = n.y, width = n.width, height = n.height
from (select unnest(:ids::bigint[]) as id, unnest(:xs::bigint[]) as x, unnest(:ys::bigint[]) as y,
        unnest(:widths::bigint[]) as width, unnest(:heights::bigint[]) as height) n
where w.id = n.id and w.dashboard_id = :dashboard_id::bigint

-- name: widget_remove :opt
delete from {p}.dashboard_widgets w where w.id = :id::bigint and w.dashboard_id = :dashboard_id::bigint returning w.id

-- name: widget_chart :opt
select c.id from {p}.charts c where c.id = :id::bigint for key share

-- The first home whose dashboard the caller sees: the user's, then those of the user's roles by role id, then the project's.
-- name: home_find :opt args(home)
select h.scope:text, h.subject_id:bigint, h.dashboard_id:bigint
from {p}.dashboard_homes h join {p}.dashboards d on d.id = h.dashboard_id
where (h.scope = 'user' and h.subject_id = :user_id::bigint or h.scope = 'role' and h.subject_id = any(:role_ids::bigint[])
    or h.scope = 'project') and {seen}
order by case h.scope when 'user' then 1 when 'role' then 2 else 3 end, h.subject_id
limit 1

-- name: home_set :exec
insert into {p}.dashboard_homes as h (scope, subject_id, dashboard_id)
values (:scope::text, :subject_id::bigint, :dashboard_id::bigint)
on conflict (scope, subject_id) do update set dashboard_id = excluded.dashboard_id

-- name: home_clear :exec
delete from {p}.dashboard_homes h where h.scope = :scope::text and h.subject_id = :subject_id::bigint
