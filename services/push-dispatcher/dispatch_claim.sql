-- Sends change hands. All times are this server's.

-- part: claimed
update {p}.push_sends s set token = s.token + 1, attempt = s.attempt + 1, leased = true, status = 'Running',
  due_at = now() + :lease_ms::bigint * interval '1 millisecond', started_at = coalesce(s.started_at, now())
from due d where s.id = d.id
returning s.id:bigint, s.token:bigint, s.request:jsonb, s.category:text?, s.started_at:timestamptz!, s.key_id:integer?, s.spread:smallint,
  s.spread_after:bigint, s.cancelled_at is not null as cancelled:boolean, s.created_at:timestamptz

-- name: sends_claim :many row(claimed_send)
with due as (
  select q.id from {p}.push_sends q where q.due_at <= now() and not q.leased
  order by q.due_at limit :most::bigint for update skip locked)
{claimed};

-- Those whose last process died.
-- name: sends_claim_crashed :many row(claimed_send)
with due as (
  select q.id from {p}.push_sends q where q.due_at <= now() and q.leased
  order by q.due_at limit :most::bigint for update skip locked)
{claimed};

-- A row that is locked is being written by its own process: the next beat tells.
-- name: sends_renew :many
with held as (
  select o.id from unnest(:ids::bigint[], :tokens::bigint[]) as e (id, token)
  join {p}.push_sends o on o.id = e.id and o.token = e.token
  where o.due_at is not null for no key update of o skip locked)
update {p}.push_sends s set due_at = now() + :lease_ms::bigint * interval '1 millisecond'
from held h where s.id = h.id returning s.id:bigint;

-- name: sends_held :many
select s.id:bigint from unnest(:ids::bigint[], :tokens::bigint[]) as e (id, token)
join {p}.push_sends s on s.id = e.id and s.token = e.token where s.due_at is not null;

-- What was given back did not take its process down.
-- name: sends_release :exec
update {p}.push_sends s set token = s.token + 1, attempt = s.attempt - 1, leased = false, due_at = now()
from unnest(:ids::bigint[], :tokens::bigint[]) as g (id, token)
where s.id = g.id and s.token = g.token and s.due_at is not null;

-- One that has ended so many processes before it got anywhere is not tried again.
-- name: sends_quarantine :many
update {p}.push_sends s set status = 'Failed', token = s.token + 1, leased = false, due_at = null, finished_at = now(),
  first_error = coalesce(s.first_error, 'QUARANTINED'),
  result = jsonb_build_object('delivered', s.fcm_delivered + s.web_delivered, 'failed', s.fcm_failed + s.web_failed,
    'unregistered', s.fcm_unregistered + s.web_unregistered,
    'delivery_error', 'The send ended ' || s.attempt || ' dispatchers.')
where s.id in (select q.id from {p}.push_sends q
  where q.due_at <= now() and q.leased and q.attempt >= :attempts::smallint
  order by q.due_at limit 100 for update skip locked)
returning s.id:bigint, s.attempt:smallint, true as quarantined:boolean;

-- name: push_projects :many
select p.number:bigint, p.server:text from platform.projects p
where p.state = 'active' and (exists (select 1 from platform.push_projects f where f.number = p.number)
  or exists (select 1 from platform.workflow_projects w where w.number = p.number))
order by p.number;

-- name: push_look :one
select coalesce(bool_or(not q.leased), false) as due:boolean, coalesce(bool_or(q.leased), false) as crashed:boolean,
  coalesce(bool_or(q.leased), false) as expired:boolean
from (select s.leased from {p}.push_sends s where s.due_at <= now() limit 1000) q;

-- Deliveries first, for there may be many of one send.
-- name: retain_deliveries :exec
delete from {p}.push_deliveries y where y.ctid = any (array(
  select o.ctid from {p}.push_sends s join {p}.push_deliveries o on o.send_id = s.id
  where s.finished_at < now() - make_interval(days => :days::integer) limit :most::bigint));

-- name: retain_sends :exec
delete from {p}.push_sends s where s.id in (
  select o.id from {p}.push_sends o where o.finished_at < now() - make_interval(days => :days::integer)
    and not exists (select 1 from {p}.push_deliveries y where y.send_id = o.id)
  order by o.id limit :most::bigint);
