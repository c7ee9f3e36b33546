-- Hands over the mail of SendEmail, and polls its end.

-- Inserts one row per step, however often and by whichever runner the step is run. Inserts nothing when the job no longer
-- has our token.
-- name: email_hand_over :many
with own as (
  select l.job_id from {p}.job_leases l
  where l.job_id = :job_id::bigint and l.token = :token::bigint and l.state in ('running', 'waiting') for no key update of l)
insert into {p}.mails (type, recipient, content, give_up_at, job_id, step_seq)
select 'workflow', :recipient::text, :content::jsonb, now() + :give_up_ms::bigint * interval '1 millisecond', own.job_id,
  :seq::integer
from own
on conflict (job_id, step_seq) do update set recipient = mails.recipient
returning mails.id:bigint

-- name: email_poll :opt
select m.status:text, m.code:text?, m.detail:text?, m.message_id:text? from {p}.mails m where m.id = :id::bigint
