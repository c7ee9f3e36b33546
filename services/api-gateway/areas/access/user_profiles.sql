-- A user without a stored profile has an empty one.

-- part: profile
select u.id, u.id as user_id, p.display_name, p.avatar_file_id, p.locale, p.timezone,
       coalesce(p.preferences, '{}'::jsonb) as preferences,
       coalesce(p.created_at, u.created_at) as created_at, coalesce(p.updated_at, u.created_at) as updated_at
from {p}.users u left join {p}.user_profiles p on p.user_id = u.id

-- name: profiles_list :page sort(id,created_at)
{profile}

-- name: profile_get :opt
{profile}
where u.id = $1::bigint

-- name: profile_ensure :exec
insert into {p}.user_profiles (user_id) select u.id from {p}.users u where u.id = $1::bigint
on conflict (user_id) do nothing

-- name: profile_save :opt
update {p}.user_profiles p
set display_name = case when $2::boolean then $3::text else p.display_name end,
    avatar_file_id = case when $4::boolean then $5::bigint else p.avatar_file_id end,
    locale = case when $6::boolean then $7::text else p.locale end,
    timezone = case when $8::boolean then $9::text else p.timezone end,
    preferences = case when $10::boolean then coalesce($11::jsonb, '{}'::jsonb) else p.preferences end,
    updated_at = greatest(now(), p.updated_at)
where p.user_id = $1::bigint
returning p.user_id as id, p.user_id, p.display_name, p.avatar_file_id, p.locale, p.timezone, p.preferences, p.created_at, p.updated_at
