-- Statements with which gateway and runner run an operation: integration and operation, connection, tokens, and the log of calls.

-- name: use_integration :opt
select i.id:bigint, i.name:text, i.base_url:text, i.auth:jsonb, i.sealed:bytea?, i.client_bound:text?, o.operation:jsonb?
from {p}.integrations i
  left join lateral (select x.value as operation from jsonb_array_elements(i.operations) x (value)
                     where x.value ->> 'name' = :operation::text limit 1) o on true
where i.id = :id::bigint or i.name = :name::text?

-- The connections that a user may use, the user's own before the project's: the one with :id, or if :id is 0 the first two, which
-- is enough to see that there are several. With a :user_id of 0 only the project's.
-- name: use_connections :many row(connection_use)
select c.id:bigint, c.integration_id:bigint, c.user_id:bigint?, c.scheme:text, c.status:text, c.sealed:bytea?, c.base_bound:text,
  c.token_bound:text?, c.token_number:bigint, c.token_expires:timestamptz?, c.version:bigint, now() as now:timestamptz
from {p}.connections c
where c.integration_id = :integration_id::bigint and (:id::bigint = 0 or c.id = :id::bigint)
  and (c.user_id is null or c.user_id = :user_id::bigint)
order by c.user_id nulls last, c.id
limit 2

-- name: connection_again :many row(connection_use)
select c.id:bigint, c.integration_id:bigint, c.user_id:bigint?, c.scheme:text, c.status:text, c.sealed:bytea?, c.base_bound:text,
  c.token_bound:text?, c.token_number:bigint, c.token_expires:timestamptz?, c.version:bigint, now() as now:timestamptz
from {p}.connections c where c.id = :id::bigint and c.version = :version::bigint

-- Takes the lease to fetch a new token. Returns no row while another process has the lease, or when the connection or its token
-- has changed since it was read.
-- name: connection_lease :opt
update {p}.connections c
set lease = c.lease + 1, lease_until = now() + make_interval(secs => :seconds::integer)
where c.id = :id::bigint and c.version = :version::bigint and c.token_number = :token_number::bigint and c.status <> 'revoked'
  and (c.lease_until is null or c.lease_until < now())
returning c.lease:bigint

-- name: connection_store :opt
update {p}.connections c
set sealed = :sealed::bytea, token_number = c.token_number + 1, status = 'active', last_error = null, lease_until = null,
  token_expires = now() + make_interval(secs => :expires_in::bigint?)
where c.id = :id::bigint and c.version = :version::bigint and c.lease = :lease::bigint and c.lease_until is not null
  and c.status <> 'revoked'
returning c.token_number:bigint

-- name: connection_refused :exec
update {p}.connections c
set lease_until = null, last_error = :error::text, status = case when :lost::boolean then 'failed' else c.status end
where c.id = :id::bigint and c.version = :version::bigint and c.lease = :lease::bigint and c.lease_until is not null
  and c.status <> 'revoked'

-- Marks a token as expired after the API has refused it.
-- name: connection_expire :exec
update {p}.connections c set token_expires = now()
where c.id = :id::bigint and c.version = :version::bigint and c.token_number = :token_number::bigint

-- Logs a call before anything is sent. Also deletes up to ten old rows: calls are kept for thirty days, and about fifty thousand
-- of a project.
-- name: call_begin :one
with old as (
  select o.id, o.at from {p}.integration_calls o order by o.id limit 10),
gone as (
  delete from {p}.integration_calls c using old
  where c.id = old.id
    and (old.at < now() - interval '30 days' or old.id < (select max(m.id) from {p}.integration_calls m) - 50000)
  returning c.id),
used as (
  update {p}.connections c set last_used_at = now() where c.id = :connection_id::bigint?
    and (c.last_used_at is null or c.last_used_at < now() - interval '10 seconds'))
insert into {p}.integration_calls
  (integration_id, operation, connection_id, owner_id, actor_kind, actor_id, job_id, user_id, method, url)
values (:integration_id::bigint, :operation::text, :connection_id::bigint?, :owner_id::bigint?, :actor_kind::text,
  :actor_id::bigint?, :job_id::bigint?, :user_id::bigint?, :method::text, :url::text)
returning id as id:bigint

-- name: call_end :exec
update {p}.integration_calls c
set status_code = :status_code::bigint?, code = :code::text?, tries = :tries::integer, response_bytes = :response_bytes::bigint?,
  duration_ms = :duration_ms::bigint, finished_at = now()
where c.id = :id::bigint
