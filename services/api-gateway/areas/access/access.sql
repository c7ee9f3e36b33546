-- Checks that users, roles and API keys share.

-- name: roles_permissions :many
select r.id, r.is_admin, r.api_access, p.entity_id, p.permission,
       coalesce(array_to_string(f.field_ids, ' '), '*') as fields
from {p}.roles r
left join {p}.role_permissions p on p.role_id = r.id
left join {p}.field_access f on f.role_id = r.id and f.entity_id = p.entity_id and f.action = p.permission
where r.id = any($1::bigint[])

-- name: user_permissions :many
select r.id, r.is_admin, r.api_access, p.entity_id, p.permission,
       coalesce(array_to_string(f.field_ids, ' '), '*') as fields
from {p}.user_roles u
join {p}.roles r on r.id = u.role_id
left join {p}.role_permissions p on p.role_id = r.id
left join {p}.field_access f on f.role_id = r.id and f.entity_id = p.entity_id and f.action = p.permission
where u.user_id = $1::bigint

-- name: roles_default :many
select r.id from {p}.roles r where r.is_default

-- name: admin_roles_lock :many
select r.id from {p}.roles r where r.is_admin order by r.id for update

-- name: admins_left :one
select count(distinct u.id) as admins
from {p}.users u join {p}.user_roles m on m.user_id = u.id join {p}.roles r on r.id = m.role_id
where r.is_admin and u.status = 'active'
