-- Jobs started by hand and over a route: one statement each, no row when nothing enabled fits.

-- name: job_start_workflow :opt
insert into {p}.jobs (workflow_id, version, trigger_kind, trigger_id, trigger_entity, trigger_data, actor_id, actor_key_id, depth, trace)
select w.id, w.version, 'manual', $2::bigint, $3::text, $4::jsonb, $5::bigint, $6::bigint, $7::smallint, $8::text
from {p}.workflows w where w.id = $1::bigint and w.enabled
returning id as job_id, workflow_id

-- name: job_start_route :opt
insert into {p}.jobs (workflow_id, version, trigger_kind, trigger_id, trigger_entity, trigger_data, actor_id, actor_key_id, depth, trace)
select w.id, w.version, 'api', $2::bigint, $3::text, $4::jsonb, $5::bigint, $6::bigint, $7::smallint, $8::text
from {p}.workflows w where w.route = $1::text and w.enabled
returning id as job_id, workflow_id
