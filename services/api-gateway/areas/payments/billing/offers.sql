-- Offers and their codes.

-- Minor units in decimals as the processor counts them; a balance in something that is no currency has none.
-- part: offer
select o.id, o.name, o.description, o.kind, o.percent_off,
  trim_scale(o.amount_minor / case
    when length(o.currency) <> 3 or o.currency in ({zero_decimal})
      then 1
    when o.currency in ({three_decimal}) then 1000 else 100 end::numeric) as amount,
  o.amount_minor, o.currency, o.trial_days, o.store_offer_id, o.plan_ids, o.max_redemptions, o.per_user_limit, o.starts_at,
  o.ends_at, o.is_active, (select count(*) from {p}.offer_redemptions d where d.offer_id = o.id) as redeemed,
  o.created_at, o.updated_at
from {p}.offers o

-- name: offers_list :page sort(id,name,created_at,updated_at)
{offer}

-- name: offer_get :opt
{offer}
where o.id = $1::bigint

-- name: offer_lock :opt
{offer}
where o.id = $1::bigint for update of o

-- name: offer_add :one
insert into {p}.offers (name, description, kind, percent_off, amount_minor, currency, trial_days, store_offer_id, plan_ids,
  max_redemptions, per_user_limit, starts_at, ends_at, is_active)
values ($1::text, $2::text, $3::text, $4::numeric, $5::bigint, $6::text, $7::integer, $8::text, $9::bigint[], $10::integer,
  $11::integer, $12::timestamptz, $13::timestamptz, $14::boolean)
returning id

-- name: offer_save :exec
update {p}.offers o
set name = $2::text, description = $3::text, kind = $4::text, percent_off = $5::numeric, amount_minor = $6::bigint,
  currency = $7::text, trial_days = $8::integer, store_offer_id = $9::text, plan_ids = $10::bigint[],
  max_redemptions = $11::integer, per_user_limit = $12::integer, starts_at = $13::timestamptz, ends_at = $14::timestamptz,
  is_active = $15::boolean, updated_at = greatest(now(), o.updated_at)
where o.id = $1::bigint

-- name: offer_remove :opt
delete from {p}.offers o where o.id = $1::bigint returning o.id

-- part: code
select c.id, c.offer_id, c.code, c.user_id, c.max_redemptions, c.redeemed, c.expires_at, c.is_active, c.created_at, c.updated_at
from {p}.offer_codes c

-- name: offer_codes_list :page sort(id,code,created_at,updated_at)
{code}
where c.offer_id = $1::bigint

-- name: offer_codes_add :many
insert into {p}.offer_codes as c (offer_id, code, user_id, max_redemptions, expires_at)
select $1::bigint, unnest($2::text[]), $3::bigint, $4::integer, $5::timestamptz
on conflict (code) do nothing
returning c.id, c.offer_id, c.code, c.user_id, c.max_redemptions, c.redeemed, c.expires_at, c.is_active, c.created_at,
  c.updated_at

-- name: offer_code_save :opt
update {p}.offer_codes c
set user_id = case when $3::boolean then $4::bigint else c.user_id end,
  max_redemptions = case when $5::boolean then $6::integer else c.max_redemptions end,
  expires_at = case when $7::boolean then $8::timestamptz else c.expires_at end,
  is_active = coalesce($9::boolean, c.is_active), updated_at = greatest(now(), c.updated_at)
where c.offer_id = $1::bigint and c.id = $2::bigint
returning c.id, c.offer_id, c.code, c.user_id, c.max_redemptions, c.redeemed, c.expires_at, c.is_active, c.created_at,
  c.updated_at

-- name: offer_code_remove :opt
delete from {p}.offer_codes c where c.offer_id = $1::bigint and c.id = $2::bigint returning c.id

-- name: offer_redemptions_list :page sort(id,created_at)
select d.id, d.offer_id, d.code_id, c.code, d.user_id, d.subscription_id, d.reference, d.created_at
from {p}.offer_redemptions d left join {p}.offer_codes c on c.id = d.code_id
where d.offer_id = $1::bigint

-- Codes that were made for a user and that he can still redeem.
-- name: offer_codes_mine :page sort(id,code,created_at)
select c.id, c.code, c.expires_at, o.id as offer_id, o.name, o.description, o.kind, c.created_at
from {p}.offer_codes c join {p}.offers o on o.id = c.offer_id
where c.user_id = $1::bigint and c.is_active and o.is_active and (c.expires_at is null or c.expires_at > now())
  and (o.starts_at is null or o.starts_at <= now()) and (o.ends_at is null or o.ends_at > now())
  and (c.max_redemptions is null or c.redeemed < c.max_redemptions)

-- The offer is locked, so that its limits hold however many redeem at once.
-- name: offer_code_lock :opt
select o.id as offer_id from {p}.offers o
where o.id = (select c.offer_id from {p}.offer_codes c where c.code = $1::text)
for update

-- name: offer_code_state :opt
select c.id as code_id, o.id as offer_id, o.kind, (o.percent_off * 100)::bigint as basis_points, o.amount_minor, o.currency,
  o.trial_days, o.store_offer_id, o.name,
  case when not o.is_active or not c.is_active then 'is not active'
       when o.starts_at > now() then 'has not begun'
       when o.ends_at <= now() or c.expires_at <= now() then 'has ended'
       when c.user_id is not null and c.user_id <> $2::bigint then 'is for somebody else'
       when c.redeemed >= c.max_redemptions then 'is used up'
       when (select count(*) from {p}.offer_redemptions d where d.offer_id = o.id) >= o.max_redemptions then 'is used up'
       when (select count(*) from {p}.offer_redemptions d where d.offer_id = o.id and d.user_id = $2::bigint)
            >= o.per_user_limit then 'was redeemed before'
       when cardinality(o.plan_ids) > 0 and not ($3::bigint = any(o.plan_ids)) then 'is not for this plan'
  end as refusal
from {p}.offer_codes c join {p}.offers o on o.id = c.offer_id
where c.code = $1::text

-- name: offer_redeemed :one
insert into {p}.offer_redemptions (offer_id, code_id, user_id, subscription_id, reference)
values ($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::text)
returning id, offer_id, code_id, user_id, subscription_id, reference, created_at

-- name: offer_code_used :exec
update {p}.offer_codes c set redeemed = c.redeemed + 1, updated_at = greatest(now(), c.updated_at) where c.id = $1::bigint
