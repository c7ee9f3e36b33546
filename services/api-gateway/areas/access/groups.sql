-- Groups of users. Holders of the roles in role_ids may read the members' records with X-Group-Id.

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
where exists (select 1 from {p}.group_members m where m.group_id = g.id and m.user_id = :user_id::bigint)

-- name: group_get :opt
{group}
where g.id = :id::bigint

-- name: group_lock :opt
select g.id from {p}.groups g where g.id = :id::bigint for update

-- name: group_add :one
insert into {p}.groups (name, description) values (:name::text, :description::text) returning id as id:bigint

-- name: group_save :opt
update {p}.groups g
set name = coalesce(:name::text, g.name),
    description = case when :description_set::boolean then :description::text else g.description end,
    updated_at = greatest(now(), g.updated_at)
where g.id = :id::bigint
returning g.id

-- name: group_remove :opt
delete from {p}.groups g where g.id = :id::bigint returning g.id

-- name: group_grants_remove :exec
delete from {p}.record_grants g where g.kind = 2 and g.grantee_id = :grantee_id::bigint

-- name: group_roles_clear :exec
delete from {p}.group_roles r where r.group_id = :group_id::bigint

-- name: group_roles_add :exec
insert into {p}.group_roles (group_id, role_id) select :group_id::bigint,
  unnest(:role_ids::bigint[]) on conflict do nothing

-- name: group_members :page sort(id,created_at)
select m.user_id as id, m.user_id, u.email, m.created_at
from {p}.group_members m join {p}.users u on u.id = m.user_id
where m.group_id = :group_id::bigint

-- Computes what adding users to a group would open: records granted to the group (granted), members' own records to
-- added users who have svc_group_data:read (asks), and added users' own records to users with that permission (opened).
-- member: whether the caller is a member. reached: whether the group has the caller or one of the caller's roles.
-- name: group_gives :one
with added as (select unnest(:user_ids::bigint[]) as id),
reached as (
  select m.group_id from {p}.group_members m where m.user_id = :user_id::bigint
  union
  select o.group_id from {p}.group_roles o where o.role_id = any(:role_ids::bigint[])),
askers as (
  select u.user_id as id
  from {p}.user_roles u join {p}.role_permissions p on p.role_id = u.role_id
  where p.entity_id = 0 and p.permission = 'svc_group_data:read'),
readers as (
  select a.id from askers a
  where a.id in (select d.id from added d)
    or a.id in (select m.user_id from {p}.group_members m where m.group_id = :group_id::bigint)
    or a.id in (select u.user_id from {p}.user_roles u join {p}.group_roles o on o.role_id = u.role_id
                where o.group_id = :group_id::bigint)),
unseen as (
  select d.id from added d
  where d.id <> :user_id::bigint
    and not exists (select 1 from {p}.group_members m where m.user_id = d.id
                    and (m.group_id = :group_id::bigint or m.group_id in (select group_id from reached)
                    and :asks::boolean)))
select
  exists (select 1 from {p}.record_grants g where g.kind = 2 and g.grantee_id = :group_id::bigint) as granted:boolean,
  exists (select 1 from {p}.group_members m where m.group_id = :group_id::bigint
  and m.user_id = :user_id::bigint) as member:boolean,
  exists (select 1 from reached where group_id = :group_id::bigint) as reached:boolean,
  exists (select 1 from {p}.group_members m where m.group_id = :group_id::bigint
  and m.user_id <> :user_id::bigint) as peopled:boolean,
  exists (select 1 from {p}.group_members m, added d join askers a on a.id = d.id
          where m.group_id = :group_id::bigint and m.user_id <> d.id) as asks:boolean,
  exists (select 1 from unseen x join readers y on y.id <> x.id) as opened:boolean

-- name: group_members_add :exec
insert into {p}.group_members (group_id, user_id) select :group_id::bigint,
  unnest(:user_ids::bigint[]) on conflict do nothing

-- name: group_member :opt
select m.user_id from {p}.group_members m where m.group_id = :group_id::bigint and m.user_id = :user_id::bigint

-- name: group_member_remove :opt
delete from {p}.group_members m where m.group_id = :group_id::bigint
  and m.user_id = :user_id::bigint returning m.user_id
