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

-- name: api_key_add :one
insert into {p}.api_keys (user_id, name, prefix, hash, expires_at)
values (:user_id::bigint, :name::text, :prefix::text, :hash::bytea, now() + :days::bigint * interval '1 day')
returning id as id:bigint, expires_at as expires_at:timestamptz, created_at as created_at:timestamptz

-- name: api_key_permissions_add :exec
insert into {p}.api_key_permissions (api_key_id, entity_id, permission)
select :api_key_id::bigint, unnest(:entity_ids::bigint[]), unnest(:permissions::text[])

-- name: api_key_remove :opt
delete from {p}.api_keys k where k.id = :id::bigint returning k.id:bigint, k.user_id:bigint
