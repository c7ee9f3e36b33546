-- Sends and their outcomes.

-- Inserts nothing when the project has :most sends that have not ended.
-- name: push_send_add :opt
insert into {p}.push_sends (source, category, request)
select :source::text, :category::text?, :request::jsonb
where not exists (select 1 from {p}.push_sends w where w.due_at is not null order by w.due_at offset :most::bigint - 1 limit 1)
returning id as id:bigint

-- `results` has an item for each provider with deliveries of the send.
-- part: shown
s.id, s.source, s.request -> 'audience' as audience, s.status,
  (select coalesce(jsonb_agg(jsonb_build_object('provider', v.provider, 'delivered', v.delivered, 'failed', v.failed,
      'unregistered', v.unregistered) order by v.number), '[]')
   from (values (1, 'fcm', s.fcm_delivered, s.fcm_failed, s.fcm_unregistered),
                (2, 'web_push', s.web_delivered, s.web_failed, s.web_unregistered))
     as v (number, provider, delivered, failed, unregistered)
   where v.delivered + v.failed + v.unregistered > 0
     or exists (select 1 from {p}.push_deliveries x where x.send_id = s.id and x.provider = v.number)) as results,
  s.targets, s.first_error, s.workflow_id, w.name as workflow_name, s.job_id, s.step_key, s.category,
  s.request ->> 'title' as title, left(s.request ->> 'body', 200) as body_preview, s.created_at, s.started_at, s.finished_at,
  s.cancelled_at

-- part: tables
from {p}.push_sends s left join {p}.workflows w on w.id = s.workflow_id

-- part: wanted
where (:source::text? is null or s.source = :source::text?) and (:status::text? is null or s.status = :status::text?)
  and (:workflow_id::bigint? is null or s.workflow_id = :workflow_id::bigint?)

-- name: push_sends_desc :many args(push_sends)
select {shown} {tables} {wanted} and s.id < :behind::bigint order by s.id desc limit :limit::bigint offset :offset::bigint

-- name: push_sends_asc :many args(push_sends)
select {shown} {tables} {wanted} and s.id > :behind::bigint order by s.id limit :limit::bigint offset :offset::bigint

-- name: push_sends_count :one args(push_sends)
select count(*) as total_items from {p}.push_sends s {wanted}

-- name: push_send_get :opt
select {shown} {tables} where s.id = :id::bigint

-- Marks a send that has not ended; the dispatcher then stops it, and its remaining deliveries fail.
-- name: push_send_cancel :exec
update {p}.push_sends s set cancelled_at = coalesce(s.cancelled_at, now()) where s.id = :id::bigint and s.due_at is not null

-- --- deliveries of a send, in the order of their primary key ---

-- _place: provider and target as one number. The lower 62 bits are the target's id, the bits above are the provider's number minus 1.
-- part: delivery
case x.provider when 1 then 'fcm' else 'web_push' end as provider,
  case when x.token is null then x.target_id end as device_id, case when x.token is not null then x.target_id end as record_id,
  x.status, x.code, x.tries, x.ended_at, ((x.provider - 1)::bigint << 62) | x.target_id as _place
from {p}.push_deliveries x

-- part: of_send
where x.send_id = :send_id::bigint and (:provider::text? is null or x.provider = case :provider::text? when 'fcm' then 1 else 2 end)
  and (:status::text? is null or x.status = :status::text?)

-- name: push_deliveries_desc :many args(push_deliveries)
select {delivery} {of_send}
  and (x.provider, x.target_id) < ((1 + (:behind::bigint >> 62))::smallint, :behind::bigint & 4611686018427387903)
order by x.provider desc, x.target_id desc limit :limit::bigint offset :offset::bigint

-- name: push_deliveries_asc :many args(push_deliveries)
select {delivery} {of_send}
  and (x.provider, x.target_id) > ((1 + (:behind::bigint >> 62))::smallint, :behind::bigint & 4611686018427387903)
order by x.provider, x.target_id limit :limit::bigint offset :offset::bigint

-- name: push_deliveries_count :one args(push_deliveries)
select count(*) as total_items from {p}.push_deliveries x {of_send}
