-- Records the results of a send's devices, and its end.

-- A page ends with the token that fills :bytes. Each token is read by its device's key in a subquery. With a join, the planner may choose a
-- merge that reads all devices before the page for each page.
-- name: deliveries_page :many
select w.target_id:bigint, w.token:text?, w.device:boolean, now() as read_at:timestamptz
from (
  select z.target_id, z.token, z.device,
    sum(octet_length(z.token)) over (order by z.target_id rows between unbounded preceding and 1 preceding) as before
  from (
    select y.target_id, coalesce(y.token, (select d.token from {p}.push_devices d where d.id = y.target_id)) as token,
      y.token is null as device
    from {p}.push_deliveries y
    where y.send_id = :id::bigint and y.provider = :provider::smallint and y.target_id > :after::bigint and y.status = 'pending'
    order by y.target_id limit :count::bigint) z) w
where coalesce(w.before, 0) < :bytes::bigint order by w.target_id;

-- A device that was seen again after its token was read stays registered. A send that records results has not crashed its process, so its
-- attempts start again. Rows are found one by one by their key and written by their ctid, which no other process changes. With a join, a
-- plan that was made while the table was small would read all rows of the send for each row.
-- name: deliveries_record :opt
with own as (
  select s.id from {p}.push_sends s where s.id = :id::bigint and s.token = :token::bigint and s.due_at is not null for no key update),
done as (
  update {p}.push_deliveries y set status = g.status, code = g.code, tries = g.tries, ended_at = now()
  from (select r.status, r.code, r.tries, (select o.ctid from {p}.push_deliveries o
      where o.send_id = own.id and o.provider = :provider::smallint and o.target_id = r.id and o.status = 'pending') as place
    from own cross join unnest(:targets::bigint[], :statuses::text[], :codes::text[], :tries::bigint[]) as r (id, status, code, tries)
    offset 0) g
  where y.ctid = g.place
  returning y.status, y.code),
dead as (
  update {p}.push_devices d set unregistered_at = now()
  from own cross join unnest(:dead::bigint[]) as g (id)
  where d.id = g.id and d.unregistered_at is null and d.last_seen_at <= :read_at::timestamptz),
sums as (
  select count(*) filter (where done.status = 'delivered') as delivered, count(*) filter (where done.status = 'failed') as failed,
    count(*) filter (where done.status = 'unregistered') as unregistered, min(done.code) filter (where done.status = 'failed') as code
  from done)
update {p}.push_sends s set attempt = least(s.attempt, 1), first_error = coalesce(s.first_error, sums.code),
  fcm_delivered = s.fcm_delivered + case :provider::smallint when 1 then sums.delivered else 0 end,
  fcm_failed = s.fcm_failed + case :provider::smallint when 1 then sums.failed else 0 end,
  fcm_unregistered = s.fcm_unregistered + case :provider::smallint when 1 then sums.unregistered else 0 end,
  web_delivered = s.web_delivered + case :provider::smallint when 2 then sums.delivered else 0 end,
  web_failed = s.web_failed + case :provider::smallint when 2 then sums.failed else 0 end,
  web_unregistered = s.web_unregistered + case :provider::smallint when 2 then sums.unregistered else 0 end
from own, sums where s.id = own.id
returning s.cancelled_at is not null as cancelled:boolean;

-- Fails the next page of pending rows with :code, for example because the provider was removed or the send was cancelled. Pages are read in
-- the order of the key. With `own` joined, the statement would sort all pending rows for each page.
-- name: deliveries_fail :opt
with own as (
  select s.id from {p}.push_sends s where s.id = :id::bigint and s.token = :token::bigint and s.due_at is not null for no key update),
page as (
  select y.target_id, y.ctid as place from {p}.push_deliveries y
  where exists (select from own) and y.send_id = :id::bigint and y.provider = :provider::smallint and y.target_id > :after::bigint
    and y.status = 'pending'
  order by y.target_id limit :count::bigint),
done as (
  update {p}.push_deliveries y set status = 'failed', code = :code::text, ended_at = now()
  where y.ctid = any (array(select page.place from page))
  returning 1),
sums as (select (select count(*) from done) as failed, (select max(page.target_id) from page) as last)
update {p}.push_sends s set
  first_error = case when sums.failed > 0 then coalesce(s.first_error, :code::text) else s.first_error end,
  fcm_failed = s.fcm_failed + case :provider::smallint when 1 then sums.failed else 0 end,
  web_failed = s.web_failed + case :provider::smallint when 2 then sums.failed else 0 end
from own, sums where s.id = own.id
returning coalesce(sums.last, 0) as last:bigint;

-- Ends a send that has no pending rows. Unregistered devices are no failure of the send, but a send that delivered nothing has failed.
-- name: send_end :opt
update {p}.push_sends s set status = f.status, leased = false, due_at = null, finished_at = now(),
  started_at = coalesce(s.started_at, now()), first_error = f.error,
  result = jsonb_strip_nulls(jsonb_build_object('delivered', f.delivered, 'failed', f.failed, 'unregistered', f.unregistered,
    'delivery_error', case when f.status = 'Succeeded' then null when f.targets = 0 then f.error
      else f.failed || ' of ' || f.targets || ' devices failed' || coalesce(': ' || f.error, '') end))
from (
  select c.id, c.delivered, c.failed, c.unregistered, c.targets,
    case when c.delivered = 0 then 'Failed' when c.failed = 0 then 'Succeeded' else 'Partial' end as status,
    coalesce(c.first_error, case when c.targets = 0 then :code::text when c.delivered = 0 and c.unregistered > 0 then 'UNREGISTERED' end) as error
  from (select o.id, o.targets, o.first_error, o.fcm_delivered + o.web_delivered as delivered, o.fcm_failed + o.web_failed as failed,
      o.fcm_unregistered + o.web_unregistered as unregistered
    from {p}.push_sends o where o.id = :id::bigint and o.token = :token::bigint and o.due_at is not null for no key update) c) f
where s.id = f.id
returning s.status:text;

-- name: send_look :opt
select s.cancelled_at is not null as cancelled:boolean from {p}.push_sends s
where s.id = :id::bigint and s.token = :token::bigint and s.due_at is not null;

-- name: send_release :exec
update {p}.push_sends s set token = s.token + 1, attempt = greatest(s.attempt - 1, 0), leased = false, due_at = now()
where s.id = :id::bigint and s.token = :token::bigint and s.due_at is not null;
