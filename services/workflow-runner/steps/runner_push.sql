-- Sends handed to the push dispatcher.

-- One per step and row, whoever runs it how often; nothing when the job is not ours any more.
-- name: push_hand_over :many
with own as (
  select j.id, j.workflow_id from {p}.jobs j
  where j.id = $1::bigint and j.token = $2::bigint and j.status in ('running', 'waiting') for no key update)
insert into {p}.push_sends (source, workflow_id, job_id, step_seq, step_key, row_index, request)
select 'Workflow', own.workflow_id, own.id, $3::integer, $4::text, r.row_index, r.request::jsonb
from own cross join unnest($5::bigint[], $6::text[]) as r (row_index, request)
order by r.row_index
on conflict (job_id, step_seq, row_index) do update set step_key = excluded.step_key
returning id, row_index

-- name: push_look :many
select s.row_index as row_index, s.status as status, s.result::text as result
from {p}.push_sends s where s.id = any($1::bigint[])
