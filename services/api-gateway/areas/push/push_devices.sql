-- Devices that receive notifications.

-- token_preview: the first characters of an FCM token, which reveal nothing; of a subscription the origin of its push service.
-- part: device
d.id, d.provider, d.user_id, e.name as owner_entity_name, d.owner_record_id as owner_entity_id,
  case d.provider when 'fcm' then left(d.token, 8) || '...' else substring(d.token from '(?i)"endpoint":"(https?://[^/?#"]+)') || '/...' end
    as token_preview,
  d.metadata, d.registered_at, d.last_seen_at, d.unregistered_at

-- part: tables
from {p}.push_devices d left join {p}.entities e on e.id = d.owner_entity_id

-- part: wanted
where (:provider::text? is null or d.provider = :provider::text?) and (:user_id::bigint? is null or d.user_id = :user_id::bigint?)
  and (:owner_entity_id::bigint? is null or d.owner_entity_id = :owner_entity_id::bigint?)
  and (:owner_record_id::bigint? is null or d.owner_record_id = :owner_record_id::bigint?)
  and (:live::boolean? is null or (d.unregistered_at is null) = :live::boolean?)

-- name: push_devices_desc :many args(push_devices)
select {device} {tables} {wanted} and d.id < :behind::bigint order by d.id desc limit :limit::bigint offset :offset::bigint

-- name: push_devices_asc :many args(push_devices)
select {device} {tables} {wanted} and d.id > :behind::bigint order by d.id limit :limit::bigint offset :offset::bigint

-- name: push_devices_count :one args(push_devices)
select count(*) as total_items from {p}.push_devices d {wanted}

-- name: push_device_get :opt
select {device} {tables} where d.id = :id::bigint

-- name: push_device_of_user :opt
select d.id from {p}.push_devices d where d.id = :id::bigint and d.user_id = :user_id::bigint

-- Returns no row when the token belongs to another owner and the caller may not take it over (:take).
-- name: push_device_register :opt
insert into {p}.push_devices as d
  (provider, token, token_hash, user_id, owner_entity_id, owner_record_id, metadata)
values (:provider::text, :token::text, :token_hash::bytea, :user_id::bigint?, :owner_entity_id::bigint?,
  :owner_record_id::bigint?, coalesce(:metadata::jsonb?, '{}'))
on conflict (provider, token_hash) do update
set token = excluded.token, user_id = excluded.user_id, owner_entity_id = excluded.owner_entity_id,
  owner_record_id = excluded.owner_record_id, metadata = coalesce(:metadata::jsonb?, d.metadata),
  last_seen_at = greatest(now(), d.last_seen_at), unregistered_at = null
where :take::boolean or d.user_id = excluded.user_id
returning d.id:bigint, d.registered_at:timestamptz

-- name: push_devices_count_of_user :one
select count(*) as devices:bigint from (select 1 from {p}.push_devices d where d.user_id = :user_id::bigint limit :most::bigint) as own

-- name: push_device_remove :opt
delete from {p}.push_devices d where d.id = :id::bigint and (:user_id::bigint? is null or d.user_id = :user_id::bigint?)
returning d.id
