-- Writes one row for each device, a page at a time, before the first request.

-- name: send_credentials :many
select s.key:text, s.doc:jsonb, s.sealed:bytea? from {p}.settings s where s.kind = 'push' and s.key in ('fcm', 'web_push');

-- part: own
with own as (
  select s.id from {p}.push_sends s where s.id = :id::bigint and s.token = :token::bigint and s.due_at is not null for no key update),
page as (
  select d.id, d.provider from {p}.push_devices d
  where exists (select from own) and d.id > :after::bigint and d.unregistered_at is null and d.provider = any(:providers::text[])

-- part: written
  order by d.id limit :count::bigint),
written as (
  insert into {p}.push_deliveries (send_id, provider, target_id)
  select own.id, case page.provider when 'fcm' then 1 else 2 end, page.id from own cross join page
  on conflict do nothing returning 1),
seen as (select count(*) as count, max(page.id) as last from page)
update {p}.push_sends s set key_id = coalesce(s.key_id, :key_id::integer),
  targets = s.targets + (select count(*) from written),
  fan_out = case when seen.count < :count::bigint then :next::smallint else 0 end,
  fan_out_after = case when seen.count < :count::bigint then 0 else seen.last end
from own, seen where s.id = own.id
returning s.fan_out:smallint, s.fan_out_after:bigint, s.key_id:integer!, s.cancelled_at is not null as cancelled:boolean

-- name: fan_out_all :opt row(fan_out)
{own} {written};

-- name: fan_out_users :opt row(fan_out)
{own} and d.user_id = any(:users::bigint[]) {written};

-- name: fan_out_owner :opt row(fan_out)
{own} and d.owner_entity_id = :entity::bigint and d.owner_record_id = :record::bigint {written};

-- Writes a page of records that are devices, with their tokens as they were read.
-- name: fan_out_source :opt row(fan_out)
with own as (
  select s.id from {p}.push_sends s where s.id = :id::bigint and s.token = :token::bigint and s.due_at is not null for no key update),
written as (
  insert into {p}.push_deliveries (send_id, provider, target_id, token)
  select own.id, 1, r.record, r.token from own cross join unnest(:records::bigint[], :tokens::text[]) as r (record, token)
  on conflict do nothing returning 1)
update {p}.push_sends s set key_id = coalesce(s.key_id, :key_id::integer),
  targets = s.targets + (select count(*) from written), fan_out = :next::smallint, fan_out_after = :after::bigint,
  first_error = coalesce(s.first_error, :error::text?)
from own where s.id = own.id
returning s.fan_out:smallint, s.fan_out_after:bigint, s.key_id:integer!, s.cancelled_at is not null as cancelled:boolean;
