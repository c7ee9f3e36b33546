-- Reads of a job before it begins or continues.

-- name: run_version :opt
select v.doc::text as doc:text, v.editor_id:bigint?, v.editor_key_id:bigint?
from {p}.workflow_versions v where v.workflow_id = :workflow_id::bigint and v.version = :version::integer

-- The last row of each step in this run. For a run that began at :resume_step, also of steps that ended in earlier runs before
-- :resume_step ran last.
-- name: run_history :many
select distinct on (s.key) s.key:text, s.seq:integer, s.run:smallint, s.status:text, s.output::text as output:text?,
  s.error::text as error:text?, s.input::text as input:text?, s.started_at:timestamptz?
from {p}.job_steps s
where s.job_id = :job_id::bigint and (s.run = :run::smallint or (s.status in ('succeeded', 'failed', 'interrupted')
  and s.seq < case when :resume_step::text? is null then 0 else coalesce(
    (select max(r.seq) from {p}.job_steps r where r.job_id = :job_id::bigint and r.run < :run::smallint and r.key = :resume_step::text?),
    2147483647) end))
order by s.key, s.seq desc

-- name: run_last_seq :one
select coalesce(max(s.seq), 0) as seq:integer from {p}.job_steps s where s.job_id = :job_id::bigint

-- part: run_of_lease
from {p}.job_leases l join {p}.jobs j on j.id = l.job_id where l.job_id = :id::bigint and l.token = :token::bigint

-- How much a job is going to hold: its trigger's data and the outputs of its steps.
-- name: run_sizes :opt args(run_job)
select coalesce(octet_length(j.trigger_data::text), 0)::bigint as trigger_bytes:bigint,
  coalesce((select sum(octet_length(s.output::text)) from {p}.job_steps s where s.job_id = j.id), 0)::bigint as output_bytes:bigint
{run_of_lease}

-- name: run_trigger :opt args(run_job)
select j.trigger_data::text as trigger_data:text? {run_of_lease}

-- Runs outside of the step's transaction, so that jobs of one chain do not wait for each other.
-- name: run_fan_out :one
insert into {p}.fan_out as f (root, records) values (:root::bigint, :records::bigint)
on conflict (root) do update set records = f.records + excluded.records, at = now()
returning f.records:bigint
