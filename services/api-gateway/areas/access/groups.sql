-- Groups of users; role_ids are the roles whose holders may ask for the members' records.

-- part: group
select g.id, g.name, g.description,
       array(select r.role_id from {p}.group_roles r where r.group_id = g.id order by r.role_id) as role_ids,
       (select count(*) from {p}.group_members m where m.group_id = g.id) as member_count,
       g.created_at, g.updated_at
from {p}.groups g

-- name: groups_list :page sort(id,name,created_at,updated_at)
{group}

-- name: groups_of_user :page sort(id,name,created_at,updated_at)
{group}
where exists (select 1 from {p}.group_members m where m.group_id = g.id and m.user_id = $1::bigint)

-- name: group_get :opt
{group}
where g.id = $1::bigint

-- name: group_add :one
insert into {p}.groups (name, description) values ($1::text, $2::text) returning id

-- name: group_save :opt
update {p}.groups g
set name = coalesce($2::text, g.name),
    description = case when $3::boolean then $4::text else g.description end,
    updated_at = now()
where g.id = $1::bigint
returning g.id

-- name: group_remove :opt
delete from {p}.groups g where g.id = $1::bigint returning g.id

-- name: group_grants_remove :exec
delete from {p}.record_grants g where g.kind = 2 and g.grantee_id = $1::bigint

-- name: group_roles_clear :exec
delete from {p}.group_roles r where r.group_id = $1::bigint

-- name: group_roles_add :exec
insert into {p}.group_roles (group_id, role_id) select $1::bigint, unnest($2::bigint[]) on conflict do nothing

-- name: group_members :page sort(id,created_at)
select m.user_id as id, m.user_id, u.email, m.created_at
from {p}.group_members m join {p}.users u on u.id = m.user_id
where m.group_id = $1::bigint

-- name: group_members_add :exec
insert into {p}.group_members (group_id, user_id) select $1::bigint, unnest($2::bigint[]) on conflict do nothing

-- name: group_member_remove :opt
delete from {p}.group_members m where m.group_id = $1::bigint and m.user_id = $2::bigint returning m.user_id
