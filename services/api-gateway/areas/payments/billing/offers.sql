-- Offers and their codes.

-- Minor units in one unit of the currency, as the processor counts them; 1 for a unit that is no currency.
-- part: offer
select o.id, o.name, o.description, o.kind, o.percent_off,
  trim_scale(o.amount_minor / case
    when length(o.currency) <> 3 or o.currency in ({zero_decimal})
      then 1
    when o.currency in ({three_decimal}) then 1000 else 100 end::numeric) as amount,
  o.amount_minor, o.currency, o.trial_days, o.store_offer_id, o.plan_ids, o.max_redemptions, o.per_user_limit,
  o.starts_at,
  o.ends_at, o.is_active, (select count(*) from {p}.offer_redemptions d where d.offer_id = o.id) as redeemed,
  o.created_at, o.updated_at
from {p}.offers o

-- name: offers_list :page sort(id,name,created_at,updated_at)
{offer}

-- name: offer_get :opt
{offer}
where o.id = :id::bigint

-- starts_at and ends_at are texts, so that saving them again loses no precision.
-- name: offer_lock :opt
select o.name:text, o.description:text?, o.kind:text, o.percent_off::float8 as percent_off:float8?,
  o.amount_minor:bigint?,
  o.currency:text?, o.trial_days:integer?, o.store_offer_id:text?, o.plan_ids:bigint[], o.max_redemptions:integer?,
  o.per_user_limit:integer, o.starts_at::text as starts_at:text?, o.ends_at::text as ends_at:text?, o.is_active:boolean,
  o.starts_at as starts_ms:timestamptz?, o.ends_at as ends_ms:timestamptz?
from {p}.offers o where o.id = :id::bigint for update

-- `id` is 0: offer_add and offer_save share their arguments.
-- name: offer_add :one args(offer) row(saved_offer)
insert into {p}.offers (name, description, kind, percent_off, amount_minor, currency, trial_days, store_offer_id,
  plan_ids, max_redemptions, per_user_limit, starts_at, ends_at, is_active)
select :name::text?, :description::text?, :kind::text?, :percent_off::float8?, :amount_minor::bigint?,
  :currency::text?, :trial_days::integer?, :store_offer_id::text?, :plan_ids::bigint[], :max_redemptions::integer?,
  :per_user_limit::integer, :starts_at::text?::timestamptz, :ends_at::text?::timestamptz, :is_active::boolean
where :id::bigint = 0
returning id as id:bigint

-- name: offer_save :one args(offer) row(saved_offer)
update {p}.offers o
set name = :name::text?, description = :description::text?, kind = :kind::text?, percent_off = :percent_off::float8?,
  amount_minor = :amount_minor::bigint?, currency = :currency::text?, trial_days = :trial_days::integer?,
  store_offer_id = :store_offer_id::text?, plan_ids = :plan_ids::bigint[], max_redemptions = :max_redemptions::integer?,
  per_user_limit = :per_user_limit::integer, starts_at = :starts_at::text?::timestamptz,
  ends_at = :ends_at::text?::timestamptz, is_active = :is_active::boolean, updated_at = greatest(now(), o.updated_at)
where o.id = :id::bigint
returning o.id:bigint

-- name: offer_remove :opt
delete from {p}.offers o where o.id = :id::bigint returning o.id

-- part: code
select c.id, c.offer_id, c.code, c.user_id, c.max_redemptions, c.redeemed, c.expires_at, c.is_active, c.created_at,
  c.updated_at
from {p}.offer_codes c

-- name: offer_codes_list :page sort(id,code,created_at,updated_at)
{code}
where c.offer_id = :offer_id::bigint

-- name: offer_codes_add :many
insert into {p}.offer_codes as c (offer_id, code, user_id, max_redemptions, expires_at)
select :offer_id::bigint, unnest(:codes::text[]), :user_id::bigint?, :max_redemptions::integer?,
  :expires_at::text?::timestamptz
on conflict (code) do nothing
returning c.id, c.offer_id, c.code, c.user_id, c.max_redemptions, c.redeemed, c.expires_at, c.is_active, c.created_at,
  c.updated_at

-- name: offer_code_save :opt
update {p}.offer_codes c
set user_id = case when :user_set::boolean then :user_id::bigint? else c.user_id end,
  max_redemptions = case when :max_set::boolean then :max_redemptions::integer? else c.max_redemptions end,
  expires_at = case when :expires_set::boolean then :expires_at::text?::timestamptz else c.expires_at end,
  is_active = coalesce(:is_active::boolean?, c.is_active), updated_at = greatest(now(), c.updated_at)
where c.offer_id = :offer_id::bigint and c.id = :id::bigint
returning c.id, c.offer_id, c.code, c.user_id, c.max_redemptions, c.redeemed, c.expires_at, c.is_active, c.created_at,
  c.updated_at

-- name: offer_code_known :opt
select c.id from {p}.offer_codes c where c.offer_id = :offer_id::bigint and c.id = :id::bigint

-- name: offer_code_remove :opt
delete from {p}.offer_codes c where c.offer_id = :offer_id::bigint and c.id = :id::bigint returning c.id

-- name: offer_redemptions_list :page sort(id,created_at)
select d.id, d.offer_id, d.code_id, c.code, d.user_id, d.subscription_id, d.reference, d.created_at
from {p}.offer_redemptions d left join {p}.offer_codes c on c.id = d.code_id
where d.offer_id = :offer_id::bigint

-- Codes that were made for this user, and that the user can still redeem.
-- name: offer_codes_mine :page sort(id,code,created_at)
select c.id, c.code, c.expires_at, o.id as offer_id, o.name, o.description, o.kind, c.created_at
from {p}.offer_codes c join {p}.offers o on o.id = c.offer_id
where c.user_id = :user_id::bigint and c.is_active and o.is_active and (c.expires_at is null or c.expires_at > now())
  and (o.starts_at is null or o.starts_at <= now()) and (o.ends_at is null or o.ends_at > now())
  and (c.max_redemptions is null or c.redeemed < c.max_redemptions)
  and (o.max_redemptions is null
       or (select count(*) from {p}.offer_redemptions d where d.offer_id = o.id) < o.max_redemptions)
  and (select count(*) from {p}.offer_redemptions d where d.offer_id = o.id and d.user_id = :user_id::bigint) < o.per_user_limit

-- Locks the offer, so that its limits also hold when users redeem concurrently.
-- name: offer_code_lock :opt
select o.id as offer_id from {p}.offers o
where o.id = (select c.offer_id from {p}.offer_codes c where c.code = :code::text)
for update

-- name: offer_code_state :opt
select c.id as code_id:bigint, o.id as offer_id:bigint, o.kind:text,
  (o.percent_off * 100)::bigint as basis_points:bigint?,
  o.amount_minor:bigint?, o.currency:text?, o.trial_days:integer?, o.store_offer_id:text?, o.name:text,
  case when not o.is_active or not c.is_active then 'is not active'
       when o.starts_at > now() then 'has not begun'
       when o.ends_at <= now() or c.expires_at <= now() then 'has ended'
       when c.user_id is not null and c.user_id <> :user_id::bigint then 'is for another user'
       when c.redeemed >= c.max_redemptions then 'is used up'
       when (select count(*) from {p}.offer_redemptions d where d.offer_id = o.id) >= o.max_redemptions then 'is used up'
       when (select count(*) from {p}.offer_redemptions d where d.offer_id = o.id and d.user_id = :user_id::bigint)
            >= o.per_user_limit then 'was redeemed before'
       when cardinality(o.plan_ids) > 0 and not (:plan_id::bigint = any(o.plan_ids)) then 'is not for this plan'
  end as refusal:text?
from {p}.offer_codes c join {p}.offers o on o.id = c.offer_id
where c.code = :code::text

-- name: offer_redeemed :one
insert into {p}.offer_redemptions (offer_id, code_id, user_id, subscription_id, reference)
values (:offer_id::bigint, :code_id::bigint, :user_id::bigint, :subscription_id::bigint?, :reference::text)
returning id as id:bigint

-- name: offer_code_used :exec
update {p}.offer_codes c set redeemed = c.redeemed + 1, updated_at = greatest(now(),
  c.updated_at) where c.id = :id::bigint
