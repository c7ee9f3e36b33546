-- Hands over sends to the push dispatcher, and polls their ends.

-- Inserts one row per step and list item, however often and by whichever runner the step is run. Inserts nothing when the
-- job no longer has our token, or when :most sends are already waiting.
-- name: push_hand_over :many
with own as (
  select j.id, j.workflow_id from {p}.job_leases l join {p}.jobs j on j.id = l.job_id
  where l.job_id = :job_id::bigint and l.token = :token::bigint and l.state in ('running', 'waiting')
    and (not exists (select 1 from {p}.push_sends w where w.due_at is not null order by w.due_at offset :most::bigint - 1 limit 1)
      or exists (select 1 from {p}.push_sends x where x.job_id = :job_id::bigint and x.step_seq = :seq::integer))
  for no key update of l)
insert into {p}.push_sends (source, workflow_id, job_id, step_seq, step_key, row_index, request,
  category)
select 'Workflow', own.workflow_id, own.id, :seq::integer, :key::text, r.row_index, r.request::jsonb,
  nullif(r.request::jsonb ->> 'category', '')
from own cross join unnest(:indexes::bigint[], :requests::text[]) as r (row_index, request)
order by r.row_index
on conflict (job_id, step_seq, row_index) do update set step_key = excluded.step_key
returning push_sends.id:bigint, push_sends.row_index:integer

-- name: push_sends_room :one
select not exists (select 1 from {p}.push_sends w where w.due_at is not null order by w.due_at offset :most::bigint - 1 limit 1) as room:boolean

-- name: push_poll :many
select s.row_index:integer, s.status:text, s.result::text as result:text?
from {p}.push_sends s where s.id = any(:ids::bigint[])
