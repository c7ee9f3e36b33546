-- Records granted to users (kind 1), groups (2) and roles (3).

-- name: rls_users :many args(rls_record)
select g.grantee_id as user_id, g.can_update, g.can_delete
from {p}.record_grants g
where g.entity_id = :entity_id::bigint and g.record_id = :record_id::bigint and g.kind = 1
order by g.grantee_id

-- name: rls_groups :many args(rls_record)
select case when g.kind = 2 then g.grantee_id end as group_id, case when g.kind = 3 then g.grantee_id end as role_id,
  g.can_update, g.can_delete
from {p}.record_grants g
where g.entity_id = :entity_id::bigint and g.record_id = :record_id::bigint and g.kind in (2, 3)
order by g.kind, g.grantee_id

-- Grantees that exist, locked against deletion until the commit.

-- name: rls_known_users :many args(rls_known) row(rls_known)
select u.id:bigint from {p}.users u where u.id = any(:ids::bigint[]) for key share

-- name: rls_known_groups :many args(rls_known) row(rls_known)
select g.id:bigint from {p}.groups g where g.id = any(:ids::bigint[]) for key share

-- name: rls_known_roles :many args(rls_known) row(rls_known)
select r.id:bigint from {p}.roles r where r.id = any(:ids::bigint[]) for key share

-- The model records which entities have ever had grants, so an entity's first grant changes the model.

-- name: rls_granted :opt
select e.granted:boolean from {p}.entities e where e.id = :id::bigint

-- name: rls_first :exec
update {p}.meta set model_version = model_version + 1 where id = 1

-- name: rls_granted_now :exec
update {p}.entities set granted = true where id = :id::bigint

-- name: rls_clear :exec
delete from {p}.record_grants
where entity_id = :entity_id::bigint and record_id = :record_id::bigint and kind = any(:kinds::bigint[])

-- name: rls_add :exec
insert into {p}.record_grants (entity_id, record_id, kind, grantee_id, can_update, can_delete)
select :entity_id::bigint, :record_id::bigint, i.kind::smallint, i.grantee_id, i.can_update = 1, i.can_delete = 1
from unnest(:kinds::bigint[], :grantee_ids::bigint[], :updates::bigint[], :deletes::bigint[]) as i (kind, grantee_id,
  can_update, can_delete)
