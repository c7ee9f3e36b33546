-- Integrations, and the calls of their operations.

-- name: integrations_list :page sort(id,name,created_at,updated_at)
select i.id, i.name, i.description, i.base_url, i.auth ->> 'scheme' as scheme,
  jsonb_array_length(i.operations) as operation_count, i.version, i.created_at, i.updated_at
from {p}.integrations i

-- name: integration_get :opt
select i.id, i.name, i.description, i.base_url,
  case when i.sealed is null then i.auth else i.auth || '{"client_secret": "********"}' end as auth, i.operations,
  i.version, i.created_at, i.updated_at
from {p}.integrations i where i.id = :id::bigint

-- name: integrations_count :one
select count(*) as integrations:bigint from {p}.integrations

-- The client secret is sealed for the id, so the id is needed before the row is stored.
-- name: integration_next :one
select nextval(pg_get_serial_sequence('{p}.integrations', 'id')) as id:bigint!

-- name: integration_add :exec
insert into {p}.integrations (id, name, description, base_url, auth, sealed, client_bound, operations)
values (:id::bigint, :name::text, :description::text?, :base_url::text, :auth::jsonb, :sealed::bytea?, :client_bound::text?,
  :operations::jsonb)

-- name: integration_lock :opt
select i.name:text, i.description:text?, i.base_url:text, i.auth:jsonb, i.sealed:bytea?, i.client_bound:text?, i.operations:jsonb
from {p}.integrations i where i.id = :id::bigint for update

-- name: integration_save :exec
update {p}.integrations i
set name = :name::text, description = :description::text?, base_url = :base_url::text, auth = :auth::jsonb,
  sealed = :sealed::bytea?, client_bound = :client_bound::text?, operations = :operations::jsonb, version = i.version + 1,
  updated_at = greatest(now(), i.updated_at)
where i.id = :id::bigint

-- name: integration_remove :opt
delete from {p}.integrations i where i.id = :id::bigint returning i.id

-- Enabled workflows with a step that names the integration.
-- name: integration_users :many
select w.id:bigint, w.name:text
from {p}.workflows w
  join {p}.workflow_versions v on v.workflow_id = w.id and v.version = w.version
  join {p}.integrations i on i.id = :id::bigint
where w.enabled and exists (
  select 1 from jsonb_array_elements(v.doc -> 'steps') s (step)
  where s.step ->> 'action' = 'RunIntegration' and s.step -> 'params' ->> 'integration' = i.name)
order by w.id
limit 10

-- --- calls ---

-- part: call
select c.id, c.integration_id, c.operation, c.connection_id,
  jsonb_build_object('kind', c.actor_kind, 'id', c.actor_id, 'job_id', c.job_id, 'user_id', c.user_id) as actor, c.method, c.url,
  c.status_code, c.code, c.tries, c.response_bytes, c.duration_ms, c.at, c.finished_at,
  case when c.finished_at is not null and c.code is null then 'answered' when c.finished_at is not null then 'failed'
       when c.at < now() - interval '5 minutes' then 'unknown' else 'running' end as outcome
from {p}.integration_calls c

-- Calls through a user's own connection are visible to that user and to administrators only.
-- part: wanted
c.integration_id = :integration_id::bigint and (:operation::text? is null or c.operation = :operation::text?)
  and (:everybody::boolean or c.owner_id is null or c.owner_id = :user_id::bigint)
  and c.at > now() - interval '30 days'

-- name: integration_calls_desc :many args(integration_calls)
{call} where {wanted} and c.id < :behind::bigint order by c.id desc limit :limit::bigint offset :offset::bigint

-- name: integration_calls_asc :many args(integration_calls)
{call} where {wanted} and c.id > :behind::bigint order by c.id limit :limit::bigint offset :offset::bigint

-- name: integration_calls_count :one args(integration_calls)
select count(*) as total_items from {p}.integration_calls c where {wanted}

-- part: of_connection
c.connection_id = :connection_id::bigint and c.at > now() - interval '30 days'

-- name: connection_calls_desc :many args(connection_calls)
{call} where {of_connection} and c.id < :behind::bigint order by c.id desc limit :limit::bigint offset :offset::bigint

-- name: connection_calls_asc :many args(connection_calls)
{call} where {of_connection} and c.id > :behind::bigint order by c.id limit :limit::bigint offset :offset::bigint

-- name: connection_calls_count :one args(connection_calls)
select count(*) as total_items from {p}.integration_calls c where {of_connection}
