-- The assistant's usage: concurrent answers and tokens. Rows older than 400 days are deleted a few at a time.

-- A concurrent question waits for the end of this transaction, so that the concurrent question counts this question's row.
-- name: ai_running_lock :exec
select from {p}.settings s where s.kind = 'ai' and s.key = 'config' for no key update

-- Releases the tokens of answers whose process has died. A row releases its tokens once: a process that is alive after all and
-- settles late finds 0 tokens in the row.
-- name: ai_running_lapse :exec
with lapsed as (
  update {p}.ai_running r set tokens = 0
  from (select o.id, o.tokens from {p}.ai_running o where o.until < now() and o.tokens > 0 for update) as had
  where r.id = had.id
  returning r.user_id, r.day, r.model, had.tokens)
update {p}.ai_usage u set reserved = greatest(0, u.reserved - l.tokens)
from (select a.user_id, a.day, a.model, sum(a.tokens)::bigint as tokens from lapsed a group by a.user_id, a.day, a.model) as l
where u.day = l.day and u.user_id = l.user_id and u.model = l.model

-- An expired row no longer counts. It is deleted ten minutes later, when its process must have settled: settling needs the row.
-- name: ai_running_add :one
with gone as (delete from {p}.ai_running o where o.until < now() - interval '10 minutes'),
  added as (
    insert into {p}.ai_running (user_id, until, day, model, tokens)
    values (:user_id::bigint, now() + interval '30 seconds', (now() at time zone 'utc')::date, :model::text, :tokens::bigint)
    returning id)
select a.id as id:bigint!,
  (select count(*) from {p}.ai_running r where r.until >= now() and r.user_id = :user_id::bigint) as of_user:bigint!,
  (select count(*) from {p}.ai_running r where r.until >= now()) as of_project:bigint!
from added a

-- name: ai_running_renew :exec
update {p}.ai_running r set until = now() + interval '30 seconds' where r.id = :id::bigint

-- Runs before the request to the model. The row stays locked until the transaction ends, so that a concurrent question waits for
-- this reservation.
-- name: ai_usage_reserve :one
with gone as (
  delete from {p}.ai_usage o where (o.day, o.user_id, o.model) in (
    select g.day, g.user_id, g.model from {p}.ai_usage g where g.day < (now() at time zone 'utc')::date - 400 limit 10
    for update skip locked))
insert into {p}.ai_usage as u (day, user_id, model, requests, reserved)
values ((now() at time zone 'utc')::date, :user_id::bigint, :model::text, 1, :tokens::bigint)
on conflict (day, user_id, model) do update set requests = u.requests + 1, reserved = u.reserved + :tokens::bigint
returning u.day as day:date

-- name: ai_usage_today :one
select coalesce(sum(t.tokens) filter (where t.user_id = :user_id::bigint), 0)::bigint as of_user:bigint,
  coalesce(sum(t.tokens), 0)::bigint as of_project:bigint
from (select u.user_id, u.reserved + u.prompt_tokens + u.completion_tokens as tokens from {p}.ai_usage u
      where u.day = :day::date) t

-- Books the used tokens and ends the lease. A repetition changes nothing.
-- name: ai_usage_settle :exec
with over as (delete from {p}.ai_running r where r.id = :running::bigint returning r.tokens)
update {p}.ai_usage u
set reserved = greatest(0, u.reserved - o.tokens), prompt_tokens = u.prompt_tokens + :prompt_tokens::bigint,
  completion_tokens = u.completion_tokens + :completion_tokens::bigint
from over o
where u.day = :day::date and u.user_id = :user_id::bigint and u.model = :model::text

-- name: ai_usage_list :page sort(day,user_id,model,requests,prompt_tokens,completion_tokens)
select u.day, u.user_id, u.model, u.requests, u.reserved as reserved_tokens, u.prompt_tokens, u.completion_tokens
from {p}.ai_usage u
where (:user_id::bigint? is null or u.user_id = :user_id::bigint?) and (:since::date? is null or u.day >= :since::date?)
