-- Materialised views that have to be refreshed.

-- name: view_projects :many
select f.number:bigint, p.server:text
from platform.view_projects f join platform.projects p on p.number = f.number
where p.state = 'active' order by f.number

-- part: due
(v.lease_until is null or v.lease_until < now())
  and (v.requested_at is not null or v.next_refresh_at <= now()
    or v.on_change and coalesce(v.checked_at, '-infinity') < now() - interval '5 seconds')

-- name: views_poll :one
select exists (select 1 from {p}.materialized_views v where {due}) as due:boolean

-- Claims a view that was requested, is due by its cron, or whose sources may have changed. Only in the last case `wanted` is
-- false.
-- name: view_claim :opt
update {p}.materialized_views as v
set token = v.token + 1, lease_until = now() + :lease_ms::bigint * interval '1 millisecond', checked_at = now()
where v.id = (select v.id from {p}.materialized_views v where {due} order by v.checked_at nulls first, v.id limit 1
  for update skip locked)
returning v.id as id:bigint, v.token as token:bigint, v.entity_id as entity_id:bigint, v.query as query:jsonb,
  v.definition_number as definition_number:bigint, v.timezone as timezone:text, v.cron as cron:text?, v.mark_since as mark_since:bigint, v.mark_changes as mark_changes:bigint,
  (v.requested_at is not null or coalesce(v.next_refresh_at <= now(), false)) as wanted:boolean, now() as now:timestamptz

-- A refresh that is over has no lease, so its view is not renewed.
-- name: view_renew :exec
update {p}.materialized_views v set lease_until = now() + :lease_ms::bigint * interval '1 millisecond'
where v.id = :id::bigint and v.token = :token::bigint and v.lease_until is not null

-- name: view_unchanged :exec
update {p}.materialized_views v set lease_until = null where v.id = :id::bigint and v.token = :token::bigint

-- A request that came during the refresh is left for the next refresh. `made_*` records the sources of the generation.
-- name: view_done :opt
update {p}.materialized_views v
set generation = v.token, columns = :columns::jsonb, lease_until = null, made_generation = v.token,
  made_definition = :made_definition::bigint, made_entities = :made_entities::bigint[], made_fields = :made_fields::bigint[],
  requested_at = case when v.requested_at > :started_at::timestamptz then v.requested_at end,
  next_refresh_at = :next_refresh_at::timestamptz?, mark_since = :mark_since::bigint, mark_changes = :mark_changes::bigint,
  refreshed_at = clock_timestamp(), refresh_ms = :refresh_ms::bigint, row_count = :row_count::bigint, failed_at = null, error = null
where v.id = :id::bigint and v.token = :token::bigint
returning v.id

-- The previous generation stays readable. The error is stored only when it belongs to the view's current definition.
-- name: view_failed :exec
update {p}.materialized_views v
set lease_until = null, requested_at = case when v.requested_at > :started_at::timestamptz then v.requested_at end,
  next_refresh_at = :next_refresh_at::timestamptz?, mark_since = :mark_since::bigint, mark_changes = :mark_changes::bigint,
  failed_at = case when v.definition_number = :definition_number::bigint then now() end,
  error = case when v.definition_number = :definition_number::bigint then :error::text end
where v.id = :id::bigint and v.token = :token::bigint
