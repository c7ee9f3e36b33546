-- API keys; the value itself is stored only as its SHA-256.

-- part: api_key
select k.id, k.name, k.prefix, k.user_id,
       array(select case when p.entity_id = 0 then p.permission else e.name || ':' || p.permission end
             from {p}.api_key_permissions p left join {p}.entities e on e.id = p.entity_id
             where p.api_key_id = k.id and (p.entity_id = 0 or e.id is not null) order by 1) as permissions,
       k.expires_at, k.last_used_at, k.created_at
from {p}.api_keys k

-- name: api_keys_list :page sort(id,name,created_at,expires_at,last_used_at)
{api_key}

-- name: api_key_get :opt
{api_key}
where k.id = :id::bigint

-- name: api_key_creator :opt
select k.user_id:bigint from {p}.api_keys k where k.id = :id::bigint

-- name: api_key_add :one
insert into {p}.api_keys (user_id, name, prefix, hash, expires_at)
values (:user_id::bigint, :name::text, :prefix::text, :hash::bytea, now() + :days::bigint * interval '1 day')
returning id as id:bigint, expires_at as expires_at:timestamptz, created_at as created_at:timestamptz

-- name: api_key_permissions_add :exec
insert into {p}.api_key_permissions (api_key_id, entity_id, permission)
select :api_key_id::bigint, unnest(:entity_ids::bigint[]), unnest(:permissions::text[])

-- name: api_key_remove :opt
delete from {p}.api_keys k where k.id = :id::bigint returning k.id:bigint, k.user_id:bigint

-- name: api_key_lock :opt
select k.user_id:bigint, k.name:text, k.expires_at <= now() as ended:boolean from {p}.api_keys k where k.id = :id::bigint for update

-- A former value ends no later than the value that replaced it.
-- name: api_key_former_end :exec
update {p}.api_key_former f set ends_at = least(f.ends_at, now() + :grace_seconds::bigint * interval '1 second')
where f.api_key_id = :id::bigint

-- name: api_key_former_sweep :exec
delete from {p}.api_key_former f where f.api_key_id = :id::bigint and f.ends_at <= now()

-- name: api_key_former_add :exec
insert into {p}.api_key_former (hash, api_key_id, ends_at)
select k.hash, k.id, now() + :grace_seconds::bigint * interval '1 second' from {p}.api_keys k
where k.id = :id::bigint and :grace_seconds::bigint > 0

-- name: api_key_rotate :one
update {p}.api_keys k
set hash = :hash::bytea, prefix = :prefix::text, last_used_at = null,
  expires_at = case when :days::bigint? is null then k.expires_at else now() + :days::bigint? * interval '1 day' end
where k.id = :id::bigint
returning k.id:bigint, k.name:text, k.expires_at:timestamptz, k.created_at:timestamptz,
  least(k.expires_at, now() + :grace_seconds::bigint * interval '1 second') as former_ends_at:timestamptz
