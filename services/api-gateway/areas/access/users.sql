-- Users with the ids of their roles and groups.

-- part: user
select u.id, u.email, u.status, u.email_confirmed_at, u.last_sign_in_at,
       array(select m.role_id from {p}.user_roles m where m.user_id = u.id order by m.role_id) as role_ids,
       array(select g.group_id from {p}.group_members g where g.user_id = u.id order by g.group_id) as group_ids,
       u.metadata, u.created_at, u.updated_at
from {p}.users u

-- name: users_list :page sort(id,email,status,last_sign_in_at,created_at,updated_at)
{user}
where (:status::text? is null or u.status = :status::text)
  and (:emails::text[]? is null
  or u.email = any(array(select lower(normalize(f.form)) from unnest(:emails::text[]?) as f (form))))
  and (:part::text? is null or position(lower(normalize(:part::text?)) in u.email) > 0)
  and (:group_id::text?::bigint is null or exists (select 1 from {p}.group_members g where g.user_id = u.id
  and g.group_id = :group_id::text::bigint))
  and (:role_id::text?::bigint is null or exists (select 1 from {p}.user_roles m where m.user_id = u.id
  and m.role_id = :role_id::text::bigint))

-- name: user_get :opt
{user}
where u.id = :id::bigint

-- Returns no row when an account has the address in any of the spellings :emails. New accounts get the canonical spelling.
-- name: user_add :opt
insert into {p}.users (email, password_hash, status, email_confirmed_at, metadata)
select lower(normalize(:email::text)), :password_hash::text, :status::text,
  case when :confirmed::boolean then now() end, coalesce(:metadata::jsonb?, '{}'::jsonb)
where not exists (select from {p}.users u
  where u.email = any(array(select lower(normalize(f.form)) from unnest(:emails::text[]) as f (form))))
returning id as id:bigint

-- name: user_lock :opt
select u.email:text, u.status:text, u.password_hash:text?, u.email_confirmed_at is not null as confirmed:boolean,
  u.metadata:jsonb from {p}.users u where u.id = :id::bigint for update

-- Keeps the account's address when the new address is only another spelling of it. Returns no row when a different
-- account has the new address. A new address, or the status invited or unconfirmed, clears the confirmation.
-- name: user_save :opt
with spellings as (
  select array(select lower(normalize(f.form)) from unnest(:emails::text[]?) as f (form)) as emails)
update {p}.users u
set email = case when u.email = any(s.emails) then u.email else coalesce(lower(normalize(:email::text?)), u.email) end,
    email_confirmed_at = case when (:email::text? is not null and u.email <> all(s.emails))
      or :status::text? in ('invited', 'unconfirmed') then null else u.email_confirmed_at end,
    password_hash = coalesce(:password_hash::text, u.password_hash),
    status = coalesce(:status::text?, u.status),
    metadata = case when :metadata_set::boolean then coalesce(:metadata::jsonb?, '{}'::jsonb) else u.metadata end,
    updated_at = greatest(now(), u.updated_at)
from spellings s
where u.id = :id::bigint
  and (u.email = any(s.emails) or not exists (select from {p}.users o where o.email = any(s.emails)))
returning u.id:bigint

-- name: user_confirm :exec
update {p}.users u
set email_confirmed_at = coalesce(u.email_confirmed_at, now()),
    status = case when u.status in ('invited', 'unconfirmed')
    and u.password_hash is not null then 'active' else u.status end,
    updated_at = greatest(now(), u.updated_at)
where u.id = :id::bigint

-- name: user_roles_clear :exec
delete from {p}.user_roles m where m.user_id = :user_id::bigint

-- name: user_roles_add :exec
insert into {p}.user_roles (user_id, role_id) select :user_id::bigint,
  unnest(:role_ids::bigint[]) on conflict do nothing

-- part: is_live
s.revoked_at is null and s.expires_at > now()

-- name: user_sessions :page sort(id,created_at,last_used_at,expires_at)
select s.id, s.created_at, s.last_used_at, s.expires_at, s.address, s.user_agent, s.id = :current_id::bigint as is_current
from {p}.sessions s
where s.user_id = :user_id::bigint and {is_live}

-- name: user_session :opt
select s.id from {p}.sessions s
where s.user_id = :user_id::bigint and s.id = :id::bigint and {is_live}

-- name: user_session_end :opt
update {p}.sessions s set revoked_at = now()
where s.user_id = :user_id::bigint and s.id = :id::bigint and {is_live}
returning s.id

-- name: user_sessions_end :many
update {p}.sessions s set revoked_at = now()
where s.user_id = :user_id::bigint and s.id <> :id::bigint and {is_live}
returning s.id

-- name: user_remove :exec
delete from {p}.users u where u.id = :id::bigint

-- name: user_grants_remove :exec
delete from {p}.record_grants g where g.kind = 1 and g.grantee_id = :grantee_id::bigint
