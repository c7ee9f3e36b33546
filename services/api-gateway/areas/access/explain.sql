-- The user or key whose rights are explained, and the sources of these rights.

-- name: explain_user :opt
select u.id:bigint, u.email:text, u.status:text from {p}.users u where u.id = :id::bigint

-- name: explain_key :opt
select k.id:bigint, k.user_id:bigint, k.expires_at > now() as live:boolean from {p}.api_keys k where k.id = :id::bigint

-- name: explain_roles :many
select r.id:bigint, r.name:text, r.is_admin:boolean, r.api_access:boolean,
  array(select p.permission from {p}.role_permissions p where p.role_id = r.id and p.entity_id = 0) as permissions:text[],
  array(select p.permission from {p}.role_permissions p
    where p.role_id = r.id and p.entity_id = :entity_id::bigint and p.entity_id > 0) as actions:text[]
from {p}.user_roles ur join {p}.roles r on r.id = ur.role_id
where ur.user_id = :user_id::bigint
order by r.id

-- Grants of a record that reach a user, directly or through a group or a role.
-- name: explain_grants :many
select g.kind::bigint as kind:bigint, g.grantee_id:bigint, coalesce(u.email, o.name, r.name, '') as name:text
from {p}.record_grants g
left join {p}.users u on g.kind = 1 and u.id = g.grantee_id
left join {p}.groups o on g.kind = 2 and o.id = g.grantee_id
left join {p}.roles r on g.kind = 3 and r.id = g.grantee_id
where g.entity_id = :entity_id::bigint and g.record_id = :record_id::bigint
  and (g.can_update or not :updates::boolean) and (g.can_delete or not :deletes::boolean)
  and (g.kind = 1 and g.grantee_id = :user_id::bigint
    or g.kind = 2 and g.grantee_id = any(:group_ids::bigint[])
    or g.kind = 3 and g.grantee_id = any(:role_ids::bigint[]))
order by g.kind, g.grantee_id
