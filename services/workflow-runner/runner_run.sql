-- What a job needs to begin, or to go on.

-- name: run_version :opt
select v.doc::text as doc, v.editor_id as editor_id, v.editor_key_id as editor_key_id
from {p}.workflow_versions v where v.workflow_id = $1::bigint and v.version = $2::integer

-- Of each step its last row: of this run, or, when that began with step $3, of what earlier ones had done before it.
-- name: run_history :many
select distinct on (s.key) s.key as key, s.seq as seq, s.run as run, s.status as status, s.output::text as output,
  s.error::text as error, s.input::text as input, s.started_at as started_at
from {p}.job_steps s
where s.job_id = $1::bigint and (s.run = $2::smallint or (s.status in ('succeeded', 'failed', 'interrupted')
  and s.seq < case when $3::text is null then 0 else coalesce(
    (select max(r.seq) from {p}.job_steps r where r.job_id = $1::bigint and r.run < $2::smallint and r.key = $3::text),
    2147483647) end))
order by s.key, s.seq desc

-- name: run_last_seq :one
select coalesce(max(s.seq), 0) as seq from {p}.job_steps s where s.job_id = $1::bigint

-- What the job is going to hold: its trigger's data, and what its steps have left.
-- name: run_sizes :opt
select coalesce(octet_length(j.trigger_data::text), 0)::bigint as trigger_bytes,
  coalesce((select sum(octet_length(s.output::text)) from {p}.job_steps s where s.job_id = j.id), 0)::bigint as output_bytes
from {p}.jobs j where j.id = $1::bigint and j.token = $2::bigint

-- name: run_trigger :opt
select j.trigger_data::text as trigger_data from {p}.jobs j where j.id = $1::bigint and j.token = $2::bigint

-- Not in the step's transaction: jobs of one chain do not wait for each other.
-- name: run_fan_out :one
insert into {p}.fan_out as f (root, records) values ($1::bigint, $2::bigint)
on conflict (root) do update set records = f.records + excluded.records, at = now()
returning f.records as records
