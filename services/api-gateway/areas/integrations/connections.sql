-- Credentials of the project and of its users for third-party APIs.

-- part: connection
select c.id, c.integration_id, i.name as integration, c.user_id, c.name, c.scheme, c.status, c.shown as credentials,
  c.token_expires as expires_at, c.last_error, c.last_used_at, c.created_by, c.version, c.created_at, c.updated_at
from {p}.connections c join {p}.integrations i on i.id = c.integration_id

-- part: seen
(:everybody::boolean or c.user_id is null or c.user_id = :user_id::bigint)

-- name: connections_list :page sort(id,name,created_at,updated_at)
{connection} where {seen} and (:integration_id::bigint? is null or c.integration_id = :integration_id::bigint?)

-- name: connection_get :opt
{connection} where c.id = :id::bigint and {seen}

-- name: connections_count :one
select count(*) as connections:bigint from {p}.connections c where c.integration_id = :integration_id::bigint

-- name: connection_of :opt
select i.base_url:text, i.auth:jsonb from {p}.integrations i where i.id = :id::bigint for share

-- name: connection_next :one
select nextval(pg_get_serial_sequence('{p}.connections', 'id')) as id:bigint!

-- name: connection_add :exec
insert into {p}.connections
  (id, integration_id, user_id, name, scheme, status, shown, sealed, base_bound, token_bound, created_by)
values (:id::bigint, :integration_id::bigint, :user_id::bigint?, :name::text, :scheme::text, :status::text, :shown::jsonb,
  :sealed::bytea?, :base_bound::text, :token_bound::text?, :created_by::bigint?)

-- name: connection_lock :opt
select c.integration_id:bigint, c.user_id:bigint?, c.name:text, c.scheme:text, c.status:text, c.sealed:bytea?,
  c.base_bound:text, c.token_bound:text?, c.version:bigint
from {p}.connections c where c.id = :id::bigint and {seen} for update

-- name: connection_rename :exec
update {p}.connections c set name = :name::text, updated_at = greatest(now(), c.updated_at) where c.id = :id::bigint

-- Drops the tokens of the previous credentials. The new version keeps a process from storing a token that it is fetching with
-- the previous credentials.
-- name: connection_replace :exec
update {p}.connections c
set scheme = :scheme::text, status = :status::text, shown = :shown::jsonb, sealed = :sealed::bytea?, base_bound = :base_bound::text,
  token_bound = :token_bound::text?, token_number = c.token_number + 1, token_expires = null, lease_until = null,
  last_error = null, version = c.version + 1, updated_at = greatest(now(), c.updated_at)
where c.id = :id::bigint

-- name: connection_remove :opt
delete from {p}.connections c where c.id = :id::bigint and {seen} returning c.id

-- name: connection_revoke :exec
update {p}.connections c
set status = 'revoked', lease_until = null, version = c.version + 1, updated_at = greatest(now(), c.updated_at)
where c.id = :id::bigint and c.status <> 'revoked'

-- Drops the credentials once the token server has revoked the tokens. Until then, a repeated request needs them.
-- name: connection_forget :exec
update {p}.connections c set sealed = null, shown = '{}', token_expires = null
where c.id = :id::bigint and c.version = :version::bigint and c.status = 'revoked'

-- --- consents ---

-- name: connection_flow_prune :exec
delete from {p}.connection_flows f where f.state_hash in (
  select o.state_hash from {p}.connection_flows o where o.expires_at < now() limit 100)

-- name: connection_flow_add :exec
insert into {p}.connection_flows (state_hash, connection_id, version, user_id, redirect_to, bound, sealed, expires_at)
values (:state_hash::bytea, :connection_id::bigint, :version::bigint, :user_id::bigint, :redirect_to::text, :bound::text,
  :sealed::bytea, now() + interval '10 minutes')

-- name: connection_flow_take :opt
delete from {p}.connection_flows f where f.state_hash = :state_hash::bytea
returning f.connection_id:bigint, f.version:bigint, f.user_id:bigint, f.redirect_to:text, f.bound:text, f.sealed:bytea,
  f.expires_at > now() as live:boolean

-- name: connection_consent :opt
update {p}.connections c
set status = 'active', scheme = :scheme::text, sealed = :sealed::bytea, shown = :shown::jsonb, base_bound = :base_bound::text,
  token_bound = :token_bound::text?, token_number = c.token_number + 1,
  token_expires = now() + make_interval(secs => :expires_in::bigint?), lease_until = null, last_error = null,
  version = c.version + 1, updated_at = greatest(now(), c.updated_at)
where c.id = :id::bigint and c.version = :version::bigint
returning c.id
