-- Roles with their permissions and field rules as names.

-- part: role
select r.id, r.name, r.description, r.is_admin, r.is_default, r.api_access,
       array(select case when p.entity_id = 0 then p.permission else e.name || ':' || p.permission end
             from {p}.role_permissions p left join {p}.entities e on e.id = p.entity_id
             where p.role_id = r.id and (p.entity_id = 0 or e.id is not null) order by 1) as permissions,
       coalesce((select jsonb_agg(jsonb_build_object('entity', e.name, 'action', a.action, 'fields',
                     array(select f.name from {p}.fields f where f.id = any(a.field_ids) order by f.id))
                   order by e.name, a.action)
                 from {p}.field_access a join {p}.entities e on e.id = a.entity_id
                 where a.role_id = r.id), '[]'::jsonb) as field_access,
       r.created_at, r.updated_at
from {p}.roles r

-- name: roles_list :page sort(id,name,created_at,updated_at)
{role}

-- name: role_get :opt
{role}
where r.id = :id::bigint

-- name: role_lock :opt
select r.is_admin, r.is_default, r.api_access from {p}.roles r where r.id = :id::bigint for update

-- name: role_add :one
insert into {p}.roles (name, description, is_admin, api_access)
values (:name::text, :description::text, :is_admin::boolean, :api_access::boolean)
returning id as id:bigint

-- name: role_save :exec
update {p}.roles r
set name = coalesce(:name::text, r.name),
    description = case when :description_set::boolean then :description::text else r.description end,
    is_admin = coalesce(:is_admin::boolean?, r.is_admin),
    api_access = coalesce(:api_access::boolean?, r.api_access),
    updated_at = greatest(now(), r.updated_at)
where r.id = :id::bigint

-- Whether an administrator role has permissions or field rules, which would have no effect.
-- name: role_excess :one
select r.is_admin and exists (select 1 from {p}.role_permissions p where p.role_id = r.id) as permissions:boolean,
  r.is_admin and exists (select 1 from {p}.field_access a where a.role_id = r.id) as field_access:boolean
from {p}.roles r where r.id = :id::bigint

-- name: role_permissions_clear :exec
delete from {p}.role_permissions p where p.role_id = :role_id::bigint

-- name: role_permissions_add :exec
insert into {p}.role_permissions (role_id, entity_id, permission)
select :role_id::bigint, unnest(:entity_ids::bigint[]), unnest(:permissions::text[])

-- name: role_fields_clear :exec
delete from {p}.field_access a where a.role_id = :role_id::bigint

-- name: role_fields_add :exec
insert into {p}.field_access (role_id, entity_id, action, field_ids)
values (:role_id::bigint, :entity_id::bigint, :action::text, :field_ids::bigint[])
on conflict (role_id, entity_id, action) do update set field_ids = excluded.field_ids

-- name: role_holders :one
select count(*) as holders:bigint from {p}.user_roles u where u.role_id = :role_id::bigint

-- name: role_remove :exec
delete from {p}.roles r where r.id = :id::bigint

-- name: role_grants_remove :exec
delete from {p}.record_grants g where g.kind = 3 and g.grantee_id = :grantee_id::bigint
