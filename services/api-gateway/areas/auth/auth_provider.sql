-- Sign-in through an OpenID Connect issuer: unfinished flows, identities, and the accounts of identities.

-- name: flow_prune :exec
delete from {p}.auth_flows where expires_at < now()

-- name: flow_add :exec
insert into {p}.auth_flows (state_hash, doc, sealed, expires_at)
values (:state_hash::bytea, :doc::jsonb, :sealed::bytea, now() + interval '10 minutes')

-- name: flow_take :opt
delete from {p}.auth_flows f
where f.state_hash = :state_hash::bytea
returning f.doc ->> 'redirect_to' as redirect_to:text?, f.doc ->> 'issuer' as issuer:text,
  f.doc ->> 'client_id' as client_id:text, f.doc ->> 'code_challenge' as code_challenge:text?,
  coalesce((f.doc ->> 'user_id')::bigint, 0) as user_id:bigint,
  coalesce((f.doc ->> 'session_id')::bigint, 0) as session_id:bigint, f.sealed:bytea, f.expires_at > now() as live:boolean

-- Ends a session of the page /auth/ui/, for which a session of the application begins.
-- name: flow_session_end :opt
update {p}.sessions s set revoked_at = now()
from {p}.users u
where s.id = :id::bigint and s.revoked_at is null and s.expires_at > now() and u.id = s.user_id
returning u.id:bigint, u.status:text, u.email_confirmed_at is not null as confirmed:boolean

-- name: identity_find :opt
select u.id:bigint, u.status:text, u.email_confirmed_at is not null as confirmed:boolean
from {p}.identities i
  join {p}.users u on u.id = i.user_id
where i.issuer = :issuer::text and i.subject = :subject::text
for update of u

-- name: account_by_email :opt
select u.id:bigint, u.status:text, u.email_confirmed_at is not null as confirmed:boolean,
  exists (select 1 from {p}.user_roles m join {p}.roles r on r.id = m.role_id
          where m.user_id = u.id and r.is_admin) as is_admin:boolean
from {p}.users u
where u.email = any(array(select lower(normalize(f.form)) from unnest(:emails::text[]) as f (form)))
order by u.email = lower(normalize((:emails::text[])[1])) desc
limit 1
for update of u

-- name: account_add :one
insert into {p}.users (email, status, email_confirmed_at)
values (lower(normalize(:email::text)), 'active', now())
returning id as id:bigint

-- name: account_default_roles :exec
insert into {p}.user_roles (user_id, role_id)
select :user_id::bigint, r.id from {p}.roles r where r.is_default

-- name: account_confirm :exec
update {p}.users u
set status = 'active', email_confirmed_at = coalesce(u.email_confirmed_at, now()), password_hash = null,
  updated_at = greatest(now(), u.updated_at)
where u.id = :id::bigint

-- name: account_end_sessions :exec
update {p}.sessions s set revoked_at = now() where s.user_id = :user_id::bigint and s.revoked_at is null

-- name: account_drop_keys :exec
delete from {p}.api_keys k where k.user_id = :user_id::bigint

-- name: account_profile :exec
update {p}.users u
set metadata = jsonb_strip_nulls(jsonb_build_object('name', :name::text, 'picture', :picture::text)) || u.metadata,
  updated_at = greatest(now(), u.updated_at)
where u.id = :id::bigint
  and jsonb_strip_nulls(jsonb_build_object('name', :name::text, 'picture', :picture::text)) || u.metadata <> u.metadata

-- name: identity_add :exec
insert into {p}.identities (user_id, issuer, subject, email)
values (:user_id::bigint, :issuer::text, :subject::text, :email::text)
