-- Sends handed to the push dispatcher.

-- One per step, whoever runs it how often; nothing when the job is not ours any more.
-- name: push_hand_over :opt
insert into {p}.push_sends (source, workflow_id, job_id, step_seq, step_key, request)
select 'Workflow', j.workflow_id, j.id, $3::integer, $4::text, $5::jsonb
from {p}.jobs j where j.id = $1::bigint and j.token = $2::bigint and j.status in ('running', 'waiting')
for no key update of j
on conflict (job_id, step_seq) do update set step_key = excluded.step_key
returning id

-- name: push_look :opt
select s.status as status, s.result::text as result from {p}.push_sends s where s.id = $1::bigint
