-- A user without a stored profile has an empty one.

-- part: profile
select u.id, u.id as user_id, p.display_name,
       (select f.id from {p}.files f where f.id = p.avatar_file_id) as avatar_file_id, p.locale, p.timezone,
       coalesce(p.preferences, '{}'::jsonb) as preferences,
       coalesce(p.created_at, u.created_at) as created_at, coalesce(p.updated_at, u.created_at) as updated_at
from {p}.users u left join {p}.user_profiles p on p.user_id = u.id

-- name: profiles_list :page sort(id,created_at)
{profile}

-- name: profile_get :opt
{profile}
where u.id = :id::bigint

-- name: profile_avatar_is :one
select exists (select 1 from {p}.user_profiles p
  where p.user_id = :user_id::bigint and p.avatar_file_id = :file_id::bigint) as same:boolean

-- name: profile_ensure :exec
insert into {p}.user_profiles (user_id) select u.id from {p}.users u where u.id = :id::bigint
on conflict (user_id) do nothing

-- name: profile_save :opt
update {p}.user_profiles p
set display_name = case when :display_name_set::boolean then :display_name::text else p.display_name end,
    avatar_file_id = case when :avatar_set::boolean then :avatar_file_id::bigint? else p.avatar_file_id end,
    locale = case when :locale_set::boolean then :locale::text else p.locale end,
    timezone = case when :timezone_set::boolean then :timezone::text else p.timezone end,
    preferences = case when :preferences_set::boolean then coalesce(:preferences::jsonb?,
    '{}'::jsonb) else p.preferences end,
    updated_at = greatest(now(), p.updated_at)
where p.user_id = :user_id::bigint
returning p.user_id as id, p.user_id, p.display_name,
  (select f.id from {p}.files f where f.id = p.avatar_file_id) as avatar_file_id, p.locale, p.timezone, p.preferences,
  p.created_at, p.updated_at
