-- Claims, renews and releases sends. All times are those of the database server.

-- part: claim
update {p}.push_sends s set token = s.token + 1, attempt = s.attempt + 1, leased = true, status = 'Running',
  due_at = now() + :lease_ms::bigint * interval '1 millisecond', started_at = coalesce(s.started_at, now())
where s.ctid = any (array(select q.ctid from {p}.push_sends q where q.due_at <= now()

-- part: claimed
  order by q.due_at limit :most::bigint for update skip locked))
returning s.id:bigint, s.token:bigint, s.request:jsonb, s.category:text?, s.started_at:timestamptz!, s.key_id:integer?, s.fan_out:smallint,
  s.fan_out_after:bigint, s.cancelled_at is not null as cancelled:boolean, coalesce(s.first_error = 'QUARANTINED', false) as quarantined:boolean,
  s.created_at:timestamptz

-- The rows that still have the token of this process's claim.
-- part: ours
s.id = any (:ids::bigint[]) and s.token = (:tokens::bigint[])[array_position(:ids::bigint[], s.id)] and s.due_at is not null

-- name: sends_claim :many row(claimed_send)
{claim} and not q.leased {claimed};

-- Claims the sends whose last process died.
-- name: sends_claim_crashed :many row(claimed_send)
{claim} and q.leased {claimed};

-- A locked row is skipped, because its own process is writing it. The next renewal decides.
-- name: sends_renew :many
update {p}.push_sends r set due_at = now() + :lease_ms::bigint * interval '1 millisecond'
where r.id = any (array(select s.id from {p}.push_sends s where {ours} for no key update skip locked)) returning r.id:bigint;

-- name: sends_held :many
select s.id:bigint from {p}.push_sends s where {ours};

-- A send that is released did not crash its process, so the attempt does not count.
-- name: sends_release :exec
update {p}.push_sends s set token = s.token + 1, attempt = s.attempt - 1, leased = false, due_at = now() where {ours};

-- Quarantines sends that have crashed :attempts processes without recording a device. The next process that claims such a send fails its
-- remaining devices, as it does for a cancelled send. If that crashes :attempts processes again, the send fails here.
-- name: sends_quarantine :many
update {p}.push_sends s set token = s.token + 1, leased = false, first_error = 'QUARANTINED',
  attempt = case when q.again then s.attempt else 0 end, status = case when q.again then 'Failed' else s.status end,
  due_at = case when q.again then null else now() end, finished_at = case when q.again then now() end,
  result = case when q.again then jsonb_build_object('delivered', s.fcm_delivered + s.web_delivered,
    'failed', s.fcm_failed + s.web_failed, 'unregistered', s.fcm_unregistered + s.web_unregistered,
    'delivery_error', 'The send crashed ' || s.attempt || ' dispatchers.') end
from (select o.ctid as place, o.attempt, coalesce(o.first_error = 'QUARANTINED', false) as again from {p}.push_sends o
  where o.due_at <= now() and o.leased and o.attempt >= :attempts::smallint
  order by o.due_at limit 100 for update skip locked) q
where s.ctid = q.place
returning s.id:bigint, q.attempt:smallint, true as quarantined:boolean;

-- name: push_projects :many
select p.number:bigint, p.server:text from platform.projects p
where p.state = 'active' and (exists (select 1 from platform.push_projects f where f.number = p.number)
  or exists (select 1 from platform.workflow_projects w where w.number = p.number))
order by p.number;

-- name: push_poll :one
select coalesce(bool_or(not q.leased), false) as due:boolean, coalesce(bool_or(q.leased), false) as crashed:boolean,
  coalesce(bool_or(q.leased), false) as expired:boolean
from (select s.leased from {p}.push_sends s where s.due_at <= now() limit 1000) q;

-- Whether the first send is old. No send is older than the first one, because ids are given in the order of creation.
-- name: sends_old :one
select coalesce((select s.created_at from {p}.push_sends s order by s.id limit 1) < now() - make_interval(days => :days::integer), false)
  as old:boolean;

-- The oldest 20000 sends (`oldest`), and the condition that a send ended longer ago than the retention (`over`).
-- part: oldest
from (select o.id, o.finished_at from {p}.push_sends o order by o.id limit 20000) s

-- part: over
s.finished_at < now() - make_interval(days => :days::integer)

-- Deletes deliveries before their sends, because one send may have many.
-- name: retain_deliveries :exec
delete from {p}.push_deliveries y where y.ctid = any (array(
  select x.place {oldest}
  cross join lateral (select r.ctid as place from {p}.push_deliveries r where r.send_id = s.id limit :most::bigint) x
  where {over} limit :most::bigint));

-- name: retain_sends :exec
delete from {p}.push_sends y where y.id = any (array(
  select s.id {oldest}
  left join lateral (select true as found from {p}.push_deliveries r where r.send_id = s.id limit 1) x on true
  where {over} and x.found is null limit :most::bigint));
