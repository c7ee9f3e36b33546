-- A job is two rows. {p}.job_leases has what changes while it is open: one narrow row, there from the moment the job is queued until
-- it ends, changed in place by every claim, renewal, step and release. No index but the key and the few suspects, and half of each
-- page free: such a change writes no index and its row stays in its page (HOT). {p}.jobs has the rest and is written twice: when the
-- job is made, and when it ends; then neither an index nor its page changes, too.
--
--   opens   insert into jobs (status null), insert into job_leases          start, events, ticks, retry
--   goes on update job_leases alone                                         claim, renewal, step, release, rescue
--   ends    delete from job_leases, update jobs: status, and what the lease said   last step, cancellation, stop, quarantine
--
-- Each of the three is one statement or one transaction: jobs.status is null exactly as long as the lease is there, whatever is killed.
-- token  fences runners off: whoever writes about a job finds its lease by it. Claims, releases, rescues and cancellations raise it.
--        jobs.token is the last one: of a runner that repeats the end it wrote, and where a retry goes on counting.
-- Locks  the lease first, then the job's row, then its steps. Whoever has deleted the lease is the only one to end the job; only a
--        retry, of a job without a lease, locks the job's row first.
-- What is read for people and tests is jobs_now: the columns of both.
create table {p}.job_leases (
  job_id      bigint primary key,                     -- no foreign key: it would lock, and so write, the job's row
  state       text not null default 'queued',         -- queued running waiting
  suspect     boolean not null default false,         -- its last runner died with it
  attempt     smallint not null default 0,            -- claims of this run
  token       bigint not null default 0,
  runner      text,                                   -- null: queued
  lease_until timestamptz,                            -- by this server's clock; null: queued
  started_at  timestamptz                             -- first claim of this run
  -- Nearly empty most of the time, then full at once: its pages are kept (to give them back would lock it) and are some before it is
  -- looked at first, so that no statement is planned for a page or none and then reads all of many.
) with (fillfactor = 50, vacuum_truncate = false, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_threshold = 1000);
create index job_leases_suspect on {p}.job_leases (job_id) where suspect;

insert into {p}.job_leases (job_id, state, suspect, attempt, token, runner, lease_until, started_at)
select j.id, j.status, j.suspect, j.attempt, j.token, j.runner, j.lease_until, j.started_at
from {p}.jobs j where j.status in ('queued', 'running', 'waiting');

drop index {p}.jobs_queued, {p}.jobs_leased, {p}.jobs_suspect;
alter table {p}.jobs
  alter column status drop not null,                  -- null: open; else succeeded failed cancelled skipped
  alter column status drop default,
  drop column suspect, drop column runner, drop column lease_until;
-- Of an open job the lease says them.
update {p}.jobs set status = null, attempt = 0, started_at = null where status in ('queued', 'running', 'waiting');
alter table {p}.jobs set (fillfactor = 50);

create view {p}.jobs_now as
select j.id, j.workflow_id, j.version, coalesce(j.status, l.state) as status, j.trigger_kind, j.trigger_event, j.trigger_id,
  j.trigger_entity, j.trigger_entity_id, j.trigger_data, j.trigger_at, j.origin, j.root, j.actor_id, j.actor_key_id, j.depth,
  j.trace, j.run, j.resume_step, coalesce(l.attempt, j.attempt) as attempt, coalesce(l.token, j.token) as token, l.runner,
  l.lease_until, coalesce(l.suspect, false) as suspect, j.error, j.reason, j.queued_at,
  coalesce(l.started_at, j.started_at) as started_at, j.finished_at
from {p}.jobs j left join {p}.job_leases l on l.job_id = j.id;
