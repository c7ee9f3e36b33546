-- Sign-in, sessions, refresh tokens and signing keys.

-- Finds an account by the spellings of its address. An account that is stored under the spelling as typed comes first.
-- name: auth_account :opt
select u.id:bigint, u.email:text, u.password_hash:text?, u.status:text,
  u.email_confirmed_at is not null as confirmed:boolean,
  exists (select 1 from {p}.sessions s
          where s.user_id = u.id
            and (s.address = :address::text
              or case when :network::text? is not null
              and s.address like '%:%' then s.address::inet <<= :network::text::inet end))
    as known_address:boolean
from {p}.users u
where u.email = any(array(select lower(normalize(f.form)) from unnest(:emails::text[]) as f (form)))
order by u.email = lower(normalize((:emails::text[])[1])) desc
limit 1

-- name: session_add :one
insert into {p}.sessions (user_id, user_agent, address, expires_at)
values (:user_id::bigint, :user_agent::text, :address::text, now() + :seconds::bigint * interval '1 second')
returning id as id:bigint, expires_at as expires_at:timestamptz

-- name: refresh_add_first :exec
insert into {p}.refresh_tokens (session_id, hash)
values (currval(pg_get_serial_sequence('{p}.sessions', 'id')), :hash::bytea)

-- name: session_prune :exec
delete from {p}.sessions s
where s.user_id = :user_id::bigint and least(s.expires_at, s.revoked_at) < now() - interval '30 days'

-- name: account_signed_in :exec
update {p}.users u
set last_sign_in_at = now(),
  password_hash = case when u.password_hash = :password_hash::text? then :rehashed::text? else u.password_hash end
where u.id = :id::bigint

-- name: account_user :opt
select u.id:bigint, u.email:text, u.status:text, u.email_confirmed_at:timestamptz?, u.last_sign_in_at:timestamptz?,
  array(select ur.role_id from {p}.user_roles ur where ur.user_id = u.id order by ur.role_id) as role_ids:bigint[],
  array(select gm.group_id from {p}.group_members gm where gm.user_id = u.id order by gm.group_id) as group_ids:bigint[],
  u.metadata:jsonb, u.created_at:timestamptz, u.updated_at:timestamptz
from {p}.users u
where u.id = :id::bigint

-- name: signing_key_active :opt
select k.key as kid:text, k.sealed:bytea?
from {p}.settings k
where k.kind = 'signing_key' and (k.doc ->> 'active')::boolean
order by k.id desc
limit 1

-- name: refresh_known :opt
select t.session_id::text as session:text from {p}.refresh_tokens t where t.hash = :hash::bytea

-- name: refresh_lock :opt
select t.id:bigint, t.session_id:bigint, t.used_at is not null as used:boolean, t.successor:bytea?,
  t.created_at + :lives_seconds::bigint * interval '1 second' <= clock_timestamp() as expired:boolean,
  coalesce(t.used_at > clock_timestamp() - interval '10 seconds', false) as just_used:boolean,
  coalesce(t.used_at > clock_timestamp() - interval '60 seconds', false) as recently_used:boolean,
  s.user_id:bigint, s.expires_at as session_expires_at:timestamptz,
  s.revoked_at is not null or s.expires_at <= clock_timestamp() as ended:boolean,
  u.status:text, u.email_confirmed_at is not null as confirmed:boolean
from {p}.refresh_tokens t
  join {p}.sessions s on s.id = t.session_id
  join {p}.users u on u.id = s.user_id
where t.hash = :hash::bytea
for update of t, s

-- name: refresh_child :opt
select c.used_at is null as unused:boolean
from {p}.refresh_tokens c
where c.session_id = :session_id::bigint and c.parent_id = :parent_id::bigint

-- name: refresh_use :exec
update {p}.refresh_tokens set used_at = now(), successor = :successor::bytea
where id = :id::bigint

-- name: refresh_add :exec
insert into {p}.refresh_tokens (session_id, parent_id, hash) values (:session_id::bigint, :parent_id::bigint,
  :hash::bytea)

-- name: refresh_forget :exec
update {p}.refresh_tokens set successor = null
where session_id = :session_id::bigint and successor is not null and used_at < now() - interval '60 seconds'

-- name: session_used :exec
update {p}.sessions set last_used_at = now(), address = :address::text
where id = :id::bigint

-- name: session_revoke :exec
update {p}.sessions set revoked_at = now()
where id = :id::bigint and revoked_at is null

-- name: sessions_sign_out :many
update {p}.sessions s set revoked_at = now()
where s.user_id = :user_id::bigint and s.revoked_at is null
  and case :which::text when 'local' then s.id = :id::bigint when 'others' then s.id <> :id::bigint else true end
returning s.id

-- name: signing_keys_lock :many
select k.id as id from {p}.settings k where k.kind = 'signing_key' order by k.id for update

-- name: signing_keys_retire :exec
update {p}.settings k
set doc = k.doc || jsonb_build_object('active', false, 'retired_at', now()), updated_at = greatest(now(), k.updated_at)
where k.kind = 'signing_key' and (k.doc ->> 'active')::boolean

-- name: signing_keys_drop :exec
delete from {p}.settings k
where k.kind = 'signing_key' and (k.doc ->> 'retired_at')::timestamptz < now() - interval '25 hours'

-- name: signing_key_add :exec
insert into {p}.settings (kind, key, doc, sealed)
values ('signing_key', :key::text,
  jsonb_build_object('alg', 'ES256', 'x', :x::text, 'y', :y::text, 'active', true, 'created_at', now()), :sealed::bytea)

-- name: signing_keys_public :many
select k.key as kid, k.doc ->> 'x' as x, k.doc ->> 'y' as y
from {p}.settings k
where k.kind = 'signing_key'
  and coalesce((k.doc ->> 'retired_at')::timestamptz > now() - interval '25 hours', true)
order by k.id desc
