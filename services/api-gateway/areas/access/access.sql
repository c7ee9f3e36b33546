-- Checks that users, roles and API keys share.

-- name: roles_permissions :many row(permission)
select r.id:bigint, r.is_admin:boolean, r.api_access:boolean, p.entity_id:bigint?, p.permission:text?,
       coalesce(array_to_string(f.field_ids, ' '), '*') as fields:text,
       exists (select 1 from {p}.record_grants g where g.kind = 3 and g.grantee_id = r.id)
         or exists (select 1 from {p}.group_roles o join {p}.group_members m on m.group_id = o.group_id
                    where o.role_id = r.id) as opens_rows:boolean
from {p}.roles r
left join {p}.role_permissions p on p.role_id = r.id
left join {p}.field_access f on f.role_id = r.id and f.entity_id = p.entity_id and f.action = p.permission
where r.id = any(:ids::bigint[])

-- name: user_permissions :many row(permission)
select r.id:bigint, r.is_admin:boolean, r.api_access:boolean, p.entity_id:bigint?, p.permission:text?,
       coalesce(array_to_string(f.field_ids, ' '), '*') as fields:text,
       exists (select 1 from {p}.record_grants g where g.kind = 3 and g.grantee_id = r.id)
         or exists (select 1 from {p}.group_roles o join {p}.group_members m on m.group_id = o.group_id
                    where o.role_id = r.id) as opens_rows:boolean
from {p}.user_roles u
join {p}.roles r on r.id = u.role_id
left join {p}.role_permissions p on p.role_id = r.id
left join {p}.field_access f on f.role_id = r.id and f.entity_id = p.entity_id and f.action = p.permission
where u.user_id = :user_id::bigint

-- name: roles_default :many
select r.id:bigint from {p}.roles r where r.is_default

-- name: admin_roles_lock :many
select r.id from {p}.roles r where r.is_admin order by r.id for update

-- Whether an administrator is left who can sign in: active, confirmed if the project requires it, and with a password
-- or an identity of the project's issuer.
-- name: admins_left :one
select exists (
  select 1 from {p}.users u join {p}.user_roles m on m.user_id = u.id join {p}.roles r on r.id = m.role_id
  where r.is_admin and u.status = 'active' and (u.email_confirmed_at is not null or not :confirmed::boolean)
    and (u.password_hash is not null
      or exists (select 1 from {p}.identities i where i.user_id = u.id and i.issuer = :issuer::text))) as found:boolean
