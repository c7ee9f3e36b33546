-- Objects that refer to an entity or to one of its fields: lists of at most 100 each.

-- Steps refer to entities and fields by name. The search for a field's name in the document may match unrelated texts.
-- name: preview_workflows :one row(preview_found)
select coalesce(json_agg(json_build_object('id', c.id, 'name', c.name) order by c.id), '[]') as found:json!
from (
  select w.id, w.name
  from {p}.workflows w join {p}.workflow_versions v on v.workflow_id = w.id and v.version = w.version
  where (w.entity_id = :entity_id::bigint
      or jsonb_path_exists(v.doc, '$.steps[*].params.entity ? (@ == $name)',
        jsonb_build_object('name', :entity::text)))
    and (:field::text? is null or v.doc::text ~ ('[^a-z0-9_]' || :field::text? || '[^a-z0-9_]'))
  order by w.id limit 100) c

-- For an entity, roles with a permission on it or a field rule; for a field, roles whose field rule names it.
-- name: preview_roles :one row(preview_found)
select coalesce(json_agg(json_build_object('id', c.id, 'name', c.name) order by c.id), '[]') as found:json!
from (
  select r.id, r.name from {p}.roles r
  where exists (
      select 1 from {p}.role_permissions p
      where p.role_id = r.id and p.entity_id = :entity_id::bigint and :field_id::bigint? is null)
    or exists (
      select 1 from {p}.field_access a
      where a.role_id = r.id and a.entity_id = :entity_id::bigint
        and (:field_id::bigint? is null or :field_id::bigint? = any(a.field_ids)))
  order by r.id limit 100) c

-- name: preview_menu_items :one row(preview_found)
select coalesce(json_agg(json_build_object('id', c.id, 'menu_id', c.menu_id, 'menu', c.menu) order by c.id), '[]')
  as found:json!
from (
  select i.id, i.menu_id, m.key as menu
  from {p}.menu_items i join {p}.menus m on m.id = i.menu_id
  where i.target_entity_id = :entity_id::bigint or i.required_entity_id = :entity_id::bigint
  order by i.id limit 100) c
