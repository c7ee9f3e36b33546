-- The sweep of payments-webhook, which finds work without a notification, and its retention.

-- name: pay_sweep_projects :many
select f.number as number, p.server as server
from platform.payment_projects f join platform.projects p on p.number = f.number
where p.state = 'active' order by f.number

-- name: pay_sweep_look :one
select d.first_at is not null as due:boolean, c.crashed as crashed:boolean, c.crashed as expired:boolean,
  case when d.first_at is null then 0 else
    (select count(*) from (select 1 from {p}.webhook_events e where e.next_attempt_at is not null limit 100000) c) end
    as backlog:bigint,
  coalesce((extract(epoch from now() - d.first_at) * 1000)::bigint, 0) as oldest_ms:bigint,
  (select count(*) from (select 1 from {p}.webhook_events e where e.state = 'dead' limit 1000) c) as dead:bigint,
  exists (select 1 from {p}.payments y where y.settle_at <= now())
    or exists (select 1 from {p}.subscriptions s where s.settle_at <= now()) as settle:boolean
from (select min(e.next_attempt_at) as first_at from {p}.webhook_events e where e.next_attempt_at <= now()) d,
  (select exists (select 1 from {p}.webhook_events e
     where e.next_attempt_at <= now() and e.state = 'received' and e.attempts > 0) as crashed) c

-- Deletes old events of one state. Only the oldest :most events of this state are checked.
-- part: retain_head
delete from {p}.webhook_events e where e.id in
  (select f.id from (select o.id, o.received_at from {p}.webhook_events o where o.state =

-- part: retain_tail
order by o.id limit :most::bigint) f
   where f.received_at < now() - make_interval(days => :days::integer))

-- name: retain_applied :exec
{retain_head} 'applied' {retain_tail}

-- name: retain_ignored :exec
{retain_head} 'ignored' {retain_tail}

-- name: retain_unsupported :exec
{retain_head} 'unsupported' {retain_tail}

-- name: retain_idempotency_keys :exec
delete from {p}.idempotency_keys k where (k.principal, k.key) in
  (select o.principal, o.key from {p}.idempotency_keys o where o.created_at < now() - interval '24 hours'
   order by o.created_at limit 1000)
