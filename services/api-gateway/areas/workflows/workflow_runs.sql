-- Jobs as the API shows them.

-- Unless {seen}, an error is shown without the members that may quote data.
-- part: columns
j.id, j.workflow_id, j.version as workflow_version, j.status, j.run, j.attempt, j.depth,
  case when j.error is null or {seen} then j.error
       else j.error - '{message,response,errors}'::text[] end as error,
  j.reason, j.queued_at, j.started_at, j.finished_at

-- part: trigger
jsonb_build_object('kind', j.trigger_kind, 'event', j.trigger_event, 'id', {trigger_id}, 'entity_name', j.trigger_entity)

-- The id of the record, payment or user that an event is about is data too: 0 unless {seen}.
-- part: trigger_id
case when {seen} then j.trigger_id else 0 end

-- part: of_workflow
from {p}.jobs_now j where {wanted} and j.workflow_id = :workflow_id::bigint

-- part: of_project
from {p}.jobs_now j where {wanted}

-- Both bounds are always compared, so that a plan for any period can use the index of queued_at. Such a plan is slow
-- without a period: then of_project and of_workflow are read.
-- part: of_period
from {p}.jobs_now j
where {wanted} and (:workflow_id::bigint? is null or j.workflow_id = :workflow_id::bigint?)
  and j.queued_at >= coalesce(:since::timestamptz?, '-infinity') and j.queued_at < coalesce(:until::timestamptz?, 'infinity')

-- part: wanted
{known} and (:statuses::text[]? is null or j.status = any(:statuses::text[]?))

-- :viewer is the caller: an empty array for a caller who sees everything, otherwise {user} or {user, key}. A caller sees
-- a job's data if the job ran in the caller's name: the user who saved the job's version, or the API key that saved it.
-- part: seen
(cardinality(:viewer::bigint[]) = 0 or exists (
  select 1 from {p}.workflow_versions v
  where v.workflow_id = j.workflow_id and v.version = j.version and v.editor_id = (:viewer::bigint[])[1]
    and (cardinality(:viewer::bigint[]) = 1 or v.editor_key_id = (:viewer::bigint[])[2])))

-- Hides jobs that were skipped for lack of the editor's permission: such a job reveals that the event happened.
-- part: known
(cardinality(:viewer::bigint[]) = 0 or j.reason is distinct from 'not_permitted')

-- Jobs that the caller started. An API key has only its own jobs; a user also has the jobs of all of the user's keys.
-- part: started
(j.actor_id = :actor_id::bigint and (:actor_key_id::bigint? is null or j.actor_key_id = :actor_key_id::bigint))

-- name: runs_of_workflow_desc :many args(runs_of_workflow)
select {columns}, {trigger} as trigger {of_workflow} and j.id < :behind::bigint
order by j.id desc limit :limit::bigint offset :offset::bigint

-- name: runs_of_workflow_asc :many args(runs_of_workflow)
select {columns}, {trigger} as trigger {of_workflow} and j.id > :behind::bigint
order by j.id limit :limit::bigint offset :offset::bigint

-- name: runs_of_workflow_count :one args(runs_of_workflow)
select count(*) as total_items {of_workflow}

-- name: runs_of_project_desc :many args(runs_of_project)
select {columns}, {trigger} as trigger {of_project} and j.id < :behind::bigint
order by j.id desc limit :limit::bigint offset :offset::bigint

-- name: runs_of_project_asc :many args(runs_of_project)
select {columns}, {trigger} as trigger {of_project} and j.id > :behind::bigint
order by j.id limit :limit::bigint offset :offset::bigint

-- name: runs_of_project_count :one args(runs_of_project)
select count(*) as total_items {of_project}

-- name: runs_of_period_desc :many args(runs_of_period)
select {columns}, {trigger} as trigger {of_period} and j.id < :behind::bigint
order by j.id desc limit :limit::bigint offset :offset::bigint

-- name: runs_of_period_asc :many args(runs_of_period)
select {columns}, {trigger} as trigger {of_period} and j.id > :behind::bigint
order by j.id limit :limit::bigint offset :offset::bigint

-- name: runs_of_period_count :one args(runs_of_period)
select count(*) as total_items {of_period}

-- A deleted workflow is known as long as it has jobs.
-- name: runs_workflow_known :one
select exists (select 1 from {p}.workflows w where w.id = :workflow_id::bigint)
  or exists (select 1 from {p}.jobs j where j.workflow_id = :workflow_id::bigint) as known:boolean

-- name: run_get :opt
select {columns} from {p}.jobs_now j where j.id = :id::bigint and {known}

-- name: run_trigger :opt
select j.trigger_kind as kind, j.trigger_event as event, {trigger_id} as id, j.trigger_entity as entity_name
from {p}.jobs j where j.id = :id::bigint

-- admitted: the editor's rights on an event's data have been checked, because a step has run.
-- name: run_data :opt
select {seen} as seen:boolean, j.trigger_entity_id as entity_id:bigint?, j.trigger_event as event:text?,
  j.trigger_kind <> 'event' or exists (select 1 from {p}.job_steps s where s.job_id = j.id) as admitted:boolean,
  case when {seen} then j.trigger_data end as data:jsonb?, j.trigger_at as at:timestamptz?
from {p}.jobs j where j.id = :id::bigint

-- part: size
(coalesce(octet_length(t.input::text), 0) + coalesce(octet_length(t.output::text), 0))::bigint

-- The newest steps that fit into an answer (1000 steps, 8 MiB, but at least one step), in the order in which they ran. Sizes
-- are those of the text that is shown, which may be a hundred times the stored size, so no more steps are read than fit.
-- name: run_steps :many
with recursive shown (seq, bytes, place) as (
  select t.seq, {size}, 1 from {p}.job_steps t
  where t.job_id = :id::bigint and t.seq = (select max(m.seq) from {p}.job_steps m where m.job_id = :id::bigint)
  union all
  select t.seq, b.bytes + {size}, b.place + 1 from shown b join {p}.job_steps t on t.job_id = :id::bigint
    and t.seq = (select max(m.seq) from {p}.job_steps m where m.job_id = :id::bigint and m.seq < b.seq)
  where b.place < 1000 and b.bytes <= 8388608)
select s.key, s.action, s.run, s.status, s.started_at, s.finished_at,
       case when {seen} then s.input end as input, case when {seen} then s.output end as output,
       case when s.error is null or {seen} then s.error
            else s.error - '{message,response,errors}'::text[] end as error,
       case when {seen} then s.log end as log
from shown b
join {p}.job_steps s on s.job_id = :id::bigint and s.seq = b.seq
join {p}.jobs j on j.id = s.job_id
where b.place = 1 or b.bytes <= 8388608
order by s.seq

-- A step that waits for a lock keeps the row of its job's lease locked. run_cancel needs that row, so it waits half a
-- second more than twice as long as the step may: 4,500 ms unless STATEMENT_TIMEOUT_MS is set.
-- name: run_set_timeout :one
select set_config('lock_timeout', (extract(epoch from current_setting('lock_timeout')::interval) * 2000 + 500)::bigint::text, true)

-- name: run_cancel :opt
with freed as (
  delete from {p}.job_leases l where l.job_id = :id::bigint returning l.job_id, l.token, l.attempt, l.started_at)
update {p}.jobs j
set status = 'cancelled', token = o.token + 1, attempt = o.attempt, started_at = o.started_at, finished_at = now()
from freed o where j.id = o.job_id
returning j.id

-- name: run_status :opt
select j.status:text! from {p}.jobs_now j where j.id = :id::bigint and {known}

-- name: run_close_steps :exec
update {p}.job_steps s
set status = 'interrupted', finished_at = now(),
  error = jsonb_build_object('code', 'interrupted', 'message', 'The job was cancelled while this was under way.')
where s.job_id = :id::bigint and s.status = 'sent'

-- name: run_is_own :opt
select j.trigger_kind in ('manual', 'api') and {started} as own:boolean? from {p}.jobs j where j.id = :id::bigint and {known}

-- ended_in: a failed job names the step that failed; a cancelled job may have been interrupted inside a step. status: the
-- lease of a job that a concurrent retry has just queued is not visible yet, so a job without status and lease is queued.
-- name: run_lock :opt
select coalesce(j.status, l.state, 'queued') as status:text, j.reason:text?, j.run:smallint, w.enabled:boolean?, v.version is not null as kept:boolean,
       coalesce(j.error ->> 'step_key',
                (select s.key from {p}.job_steps s
                 where s.job_id = j.id and s.run = j.run
                   and (s.status in ('interrupted', 'cancelled') or (j.status = 'failed' and s.status = 'failed'))
                 order by s.seq desc limit 1)) as ended_in:text?,
       array(select s.value ->> 'key' from jsonb_array_elements(v.doc -> 'steps') s) as keys:text[],
       v.doc ->> 'start_step' as start_step:text?,
       j.trigger_kind in ('manual', 'api') and {started} as own:boolean?
from {p}.jobs j
left join {p}.job_leases l on l.job_id = j.id
left join {p}.workflows w on w.id = j.workflow_id
left join {p}.workflow_versions v on v.workflow_id = j.workflow_id and v.version = j.version
where j.id = :id::bigint and {known}
for update of j

-- name: run_retry :exec
with again as (
  update {p}.jobs j
  set status = null, run = j.run + 1, attempt = 0, resume_step = :step::text?, error = null, reason = null,
    queued_at = now(), started_at = null, finished_at = null
  where j.id = :id::bigint
  returning j.id, j.token)
insert into {p}.job_leases (job_id, token) select a.id, a.token + 1 from again a

-- Whether one more job may be queued: the same condition as in job_start.sql.
-- name: run_queue_limit :one
select (select l.job_id from {p}.job_leases l
    where l.job_id <= (select j.id from {p}.jobs j order by j.id desc limit 1) - :most::bigint + 1
    order by l.job_id limit 1) is null
  or (select count(*) from (select 1 from {p}.job_leases q where q.state = 'queued' limit :most::bigint) c) < :most::bigint
    as room:boolean
