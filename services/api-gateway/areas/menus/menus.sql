-- Menus and their items.

-- name: menus_list :page sort(id,key,created_at,updated_at)
select m.id, m.key, m.label, (select count(*) from {p}.menu_items i where i.menu_id = m.id) as item_count, m.version,
  m.created_at, m.updated_at
from {p}.menus m

-- name: menus_count :one
select count(*) as menus:bigint from {p}.menus

-- name: menu_get :opt
select m.id:bigint, m.key:text, m.label:jsonb, m.version:bigint, m.created_at:timestamptz, m.updated_at:timestamptz
from {p}.menus m where m.id = :id::bigint

-- name: menu_exists :opt
select m.id from {p}.menus m where m.id = :id::bigint

-- name: menu_lock :opt
select m.key:text, m.label:jsonb, m.version:bigint from {p}.menus m where m.id = :id::bigint for update

-- name: menu_add :one
insert into {p}.menus (key, label) values (:key::text, :label::jsonb) returning id as id:bigint

-- name: menu_save :exec
update {p}.menus m
set key = :key::text, label = :label::jsonb, version = m.version + 1, updated_at = greatest(now(), m.updated_at)
where m.id = :id::bigint

-- name: menu_changed :exec
update {p}.menus m set version = m.version + 1, updated_at = greatest(now(), m.updated_at) where m.id = :id::bigint

-- name: menu_remove :opt
delete from {p}.menus m where m.id = :id::bigint returning m.id

-- name: menu_items_list :many row(menu_item)
select i.id:bigint, i.parent_id:bigint?, i.position:integer, i.label:jsonb, i.icon:text?, i.kind:text, i.target:text?,
  i.target_entity_id:bigint?, i.required_permission:text?, i.required_entity_id:bigint?
from {p}.menu_items i
where i.menu_id = :menu_id::bigint
order by i.position, i.id

-- name: menus_shown :many
select m.id:bigint, m.key:text, m.label:jsonb from {p}.menus m order by m.id

-- name: menu_dashboard :opt
select d.id from {p}.dashboards d where d.id = :id::bigint

-- Items of all menus. `closed`: the caller may not see the item's dashboard. `:everything`: the caller sees all dashboards.
-- name: menu_items_shown :many
select i.menu_id:bigint, i.id:bigint, i.parent_id:bigint?, i.position:integer, i.label:jsonb, i.icon:text?, i.kind:text,
  i.target:text?, i.target_entity_id:bigint?, i.required_permission:text?, i.required_entity_id:bigint?,
  i.kind = 'dashboard' and not exists (select 1 from {p}.dashboards d where d.id::text = i.target
    and (:everything::boolean or d.owner_id = :user_id::bigint
      or exists (select 1 from {p}.dashboard_roles s where s.dashboard_id = d.id and s.role_id = any(:role_ids::bigint[]))))
    as closed:boolean
from {p}.menu_items i
order by i.menu_id, i.position, i.id

-- name: menu_item_add :one
insert into {p}.menu_items
  (menu_id, parent_id, position, label, icon, kind, target, target_entity_id, required_permission, required_entity_id)
values (:menu_id::bigint, :parent_id::bigint?, :position::integer, :label::jsonb, :icon::text?, :kind::text, :target::text?,
  :target_entity_id::bigint?, :required_permission::text?, :required_entity_id::bigint?)
returning id as id:bigint

-- name: menu_item_save :exec
update {p}.menu_items i
set label = :label::jsonb, icon = :icon::text?, kind = :kind::text, target = :target::text?,
  target_entity_id = :target_entity_id::bigint?, required_permission = :required_permission::text?,
  required_entity_id = :required_entity_id::bigint?, updated_at = greatest(now(), i.updated_at)
where i.id = :id::bigint

-- A parent_id of 0 means no parent.
-- name: menu_items_place :exec
update {p}.menu_items i
set parent_id = nullif(n.parent_id, 0), position = n.position, updated_at = greatest(now(), i.updated_at)
from (select unnest(:ids::bigint[]) as id, unnest(:parent_ids::bigint[]) as parent_id,
        unnest(:positions::bigint[]) as position) n
where i.id = n.id and i.menu_id = :menu_id::bigint

-- name: menu_item_remove :exec
delete from {p}.menu_items i where i.id = :id::bigint and i.menu_id = :menu_id::bigint
