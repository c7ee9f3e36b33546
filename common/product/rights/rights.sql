-- Rights of a user, or of a key (which derive from its creator), as one row in one round trip.
-- Parallel arrays have the same order. rights_load.c builds unions over roles and intersections
-- with the key's list. Users have a statement of their own, because every caller's rights are read
-- again every five seconds and this should not open the tables of keys as well. The version of the
-- model is included for project_cache.c.

-- part: rights_columns
u.id as user_id:bigint, u.email:text,
  (u.status = 'active' and (u.email_confirmed_at is not null or not coalesce(
    (select (s.doc ->> 'require_confirmed_email')::boolean from {p}.settings s
      where s.kind = 'setting' and s.key = 'project'), false))) as active:boolean,
  coalesce(held.is_admin, false) as is_admin:boolean,
  coalesce(held.api_access, false) as api_access:boolean,
  coalesce(held.ids, '{}') as role_ids:bigint[],
  (select coalesce(array_agg(gm.group_id order by gm.group_id), '{}')
    from {p}.group_members gm where gm.user_id = u.id) as group_ids:bigint[],
  (select coalesce(array_agg(distinct rp.permission), '{}')
    from {p}.user_roles ur join {p}.role_permissions rp on rp.role_id = ur.role_id
    where ur.user_id = u.id and rp.entity_id = 0) as permissions:text[],
  coalesce(granted.entities, '{}') as entities:bigint[],
  coalesce(granted.actions, '{}') as actions:text[],
  coalesce(granted.fields, '{}') as fields:text[],
  (select m.model_version from {p}.meta m where m.id = 1) as model_version:bigint

-- part: rights_held
left join lateral (
  select array_agg(r.id order by r.id) as ids, bool_or(r.is_admin) as is_admin, bool_or(r.api_access) as api_access
  from {p}.user_roles ur join {p}.roles r on r.id = ur.role_id
  where ur.user_id = u.id) held on true
left join lateral (
  select array_agg(rp.entity_id order by rp.entity_id, rp.permission, rp.role_id) as entities,
    array_agg(rp.permission order by rp.entity_id, rp.permission, rp.role_id) as actions,
    array_agg(coalesce(array_to_string(fa.field_ids, ' '), '*')
      order by rp.entity_id, rp.permission, rp.role_id) as fields
  from {p}.user_roles ur
  join {p}.role_permissions rp on rp.role_id = ur.role_id and rp.entity_id > 0
  left join {p}.field_access fa
    on fa.role_id = rp.role_id and fa.entity_id = rp.entity_id and fa.action = rp.permission
  where ur.user_id = u.id) granted on true

-- name: rights_of_user :opt row(rights)
select {rights_columns},
  false as key_valid:boolean, '{}'::bigint[] as key_entities:bigint[], '{}'::text[] as key_permissions:text[]
from {p}.users u
{rights_held}
where u.id = :id::bigint;

-- name: rights_of_key :opt row(rights)
select {rights_columns},
  coalesce(k.expires_at > now(), false) as key_valid:boolean,
  coalesce(listed.entities, '{}') as key_entities:bigint[],
  coalesce(listed.permissions, '{}') as key_permissions:text[]
from {p}.users u
left join {p}.api_keys k on k.id = :id::bigint and k.user_id = u.id
{rights_held}
left join lateral (
  select array_agg(kp.entity_id order by kp.entity_id, kp.permission) as entities,
    array_agg(kp.permission order by kp.entity_id, kp.permission) as permissions
  from {p}.api_key_permissions kp where kp.api_key_id = k.id) listed on true
where u.id = (select ak.user_id from {p}.api_keys ak where ak.id = :id::bigint);

-- The rights that a user with exactly these roles would have.
-- name: rights_of_roles :one row(rights)
select 0::bigint as user_id:bigint, '' as email:text, true as active:boolean,
  coalesce(bool_or(r.is_admin), false) as is_admin:boolean,
  coalesce(bool_or(r.api_access), false) as api_access:boolean,
  coalesce(array_agg(r.id order by r.id), '{}') as role_ids:bigint[],
  '{}'::bigint[] as group_ids:bigint[],
  (select coalesce(array_agg(distinct rp.permission), '{}')
    from {p}.role_permissions rp where rp.role_id = any(:ids::bigint[]) and rp.entity_id = 0) as permissions:text[],
  (select coalesce(array_agg(rp.entity_id order by rp.entity_id, rp.permission, rp.role_id), '{}')
    from {p}.role_permissions rp where rp.role_id = any(:ids::bigint[]) and rp.entity_id > 0) as entities:bigint[],
  (select coalesce(array_agg(rp.permission order by rp.entity_id, rp.permission, rp.role_id), '{}')
    from {p}.role_permissions rp where rp.role_id = any(:ids::bigint[]) and rp.entity_id > 0) as actions:text[],
  (select coalesce(array_agg(coalesce(array_to_string(fa.field_ids, ' '), '*')
      order by rp.entity_id, rp.permission, rp.role_id), '{}')
    from {p}.role_permissions rp
    left join {p}.field_access fa
      on fa.role_id = rp.role_id and fa.entity_id = rp.entity_id and fa.action = rp.permission
    where rp.role_id = any(:ids::bigint[]) and rp.entity_id > 0) as fields:text[],
  (select m.model_version from {p}.meta m where m.id = 1) as model_version:bigint,
  false as key_valid:boolean, '{}'::bigint[] as key_entities:bigint[], '{}'::text[] as key_permissions:text[]
from {p}.roles r
where r.id = any(:ids::bigint[]);
