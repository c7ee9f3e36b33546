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

-- name: group_lock :opt
select g.id from {p}.groups g where g.id = $1::bigint for update

-- name: group_add :one
insert into {p}.groups (name, description) values ($1::text, $2::text) returning id

-- name: group_save :opt
update {p}.groups g
set name = coalesce($2::text, g.name),
    description = case when $3::boolean then $4::text else g.description end,
    updated_at = greatest(now(), g.updated_at)
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

-- What users ($4) would gain, and what of theirs would be opened, by becoming members of a group ($1), and what the
-- caller ($2, its roles $3) holds of that.
-- name: group_gives :one
with added as (select unnest($4::bigint[]) as id),
reached as (
  select m.group_id from {p}.group_members m where m.user_id = $2::bigint
  union
  select o.group_id from {p}.group_roles o where o.role_id = any($3::bigint[])),
askers as (
  select u.user_id as id
  from {p}.user_roles u join {p}.role_permissions p on p.role_id = u.role_id
  where p.entity_id = 0 and p.permission = 'svc_group_data:read'),
readers as (
  select a.id from askers a
  where a.id in (select d.id from added d)
    or a.id in (select m.user_id from {p}.group_members m where m.group_id = $1::bigint)
    or a.id in (select u.user_id from {p}.user_roles u join {p}.group_roles o on o.role_id = u.role_id
                where o.group_id = $1::bigint)),
unseen as (
  select d.id from added d
  where d.id <> $2::bigint
    and not exists (select 1 from {p}.group_members m where m.user_id = d.id
                    and (m.group_id = $1::bigint or m.group_id in (select group_id from reached) and $5::boolean)))
select
  exists (select 1 from {p}.record_grants g where g.kind = 2 and g.grantee_id = $1::bigint) as granted,
  exists (select 1 from {p}.group_members m where m.group_id = $1::bigint and m.user_id = $2::bigint) as member,
  exists (select 1 from reached where group_id = $1::bigint) as reached,
  exists (select 1 from {p}.group_members m where m.group_id = $1::bigint and m.user_id <> $2::bigint) as peopled,
  exists (select 1 from {p}.group_members m, added d join askers a on a.id = d.id
          where m.group_id = $1::bigint and m.user_id <> d.id) as asks,
  exists (select 1 from unseen x join readers y on y.id <> x.id) as opened

-- name: group_members_add :exec
insert into {p}.group_members (group_id, user_id) select $1::bigint, unnest($2::bigint[]) on conflict do nothing

-- name: group_member_remove :opt
delete from {p}.group_members m where m.group_id = $1::bigint and m.user_id = $2::bigint returning m.user_id
