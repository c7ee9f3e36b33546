-- Rows granted to users (kind 1), groups (2) and roles (3).

-- name: rls_users :many
select g.grantee_id as user_id, g.can_update, g.can_delete
from {p}.record_grants g
where g.entity_id = $1::bigint and g.record_id = $2::bigint and g.kind = 1
order by g.grantee_id

-- name: rls_groups :many
select case when g.kind = 2 then g.grantee_id end as group_id, case when g.kind = 3 then g.grantee_id end as role_id,
  g.can_update, g.can_delete
from {p}.record_grants g
where g.entity_id = $1::bigint and g.record_id = $2::bigint and g.kind in (2, 3)
order by g.kind, g.grantee_id

-- Grantees that exist, kept from being deleted until the commit.

-- name: rls_known_users :many
select u.id from {p}.users u where u.id = any($1::bigint[]) for key share

-- name: rls_known_groups :many
select g.id from {p}.groups g where g.id = any($1::bigint[]) for key share

-- name: rls_known_roles :many
select r.id from {p}.roles r where r.id = any($1::bigint[]) for key share

-- A model says which entities have ever had grants: the first one is a change of the model.

-- name: rls_granted :opt
select e.granted from {p}.entities e where e.id = $1::bigint

-- name: rls_first :exec
update {p}.meta set model_version = model_version + 1 where id = 1

-- name: rls_granted_now :exec
update {p}.entities set granted = true where id = $1::bigint

-- name: rls_clear :exec
delete from {p}.record_grants
where entity_id = $1::bigint and record_id = $2::bigint and kind = any($3::bigint[])

-- name: rls_add :exec
insert into {p}.record_grants (entity_id, record_id, kind, grantee_id, can_update, can_delete)
select $1::bigint, $2::bigint, i.kind::smallint, i.grantee_id, i.can_update = 1, i.can_delete = 1
from unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) as i (kind, grantee_id, can_update, can_delete)
