-- Deletes history that is old enough, some at a time, the oldest first.

-- part: old_jobs
select o.id from (select j.id, j.finished_at from {p}.jobs j order by j.id limit :most::bigint) o
where o.finished_at < now() - make_interval(days => :days::integer)

-- part: old_fan_out
select o.root from {p}.fan_out o where o.at < now() - interval '1 day' limit 5000

-- part: old_events
select f.id from (select e.id, e.consumed_at from {p}.outbox e order by e.id limit 5000) f
where f.consumed_at < now() - interval '1 day'

-- Each new call of an integration deletes up to ten old rows. This deletes the old rows of projects that make no new calls.
-- part: old_calls
select f.id from (select c.id, c.at from {p}.integration_calls c order by c.id limit 5000) f where f.at < now() - interval '30 days'

-- name: retain_poll :one
select exists ({old_jobs}) or exists ({old_fan_out}) or exists ({old_events}) or exists ({old_calls}) as found:boolean

-- Deletes old jobs with their steps. A job that is being run again stays.
-- name: retain_jobs :one
with old as ({old_jobs}),
gone as (
  delete from {p}.jobs j using old
  where j.id = old.id and j.finished_at < now() - make_interval(days => :days::integer) returning j.id),
steps as (delete from {p}.job_steps s using gone where s.job_id = gone.id)
select count(*) as removed from gone

-- name: retain_fan_out :exec
delete from {p}.fan_out f where f.root in ({old_fan_out})

-- name: retain_events :exec
delete from {p}.outbox o where o.id in ({old_events})

-- name: retain_calls :exec
delete from {p}.integration_calls c where c.id in ({old_calls})
