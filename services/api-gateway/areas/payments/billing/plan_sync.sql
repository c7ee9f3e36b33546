-- What the processor knows of a plan: `synced` is {"product": state, "price": state, "retired": [prices that are still to
-- be made inactive], "error": what it said last, "failures": how often it has failed}. One gateway at a time tells it;
-- sync_until is until when, and its token.

-- name: plan_sync_claim :opt
update {p}.subscription_plans
set sync_until = now() + $2::bigint * interval '1 millisecond'
where id = $1::bigint and (sync_until is null or sync_until <= now())
returning sync_until::text

-- name: plan_sync_extend :opt
update {p}.subscription_plans
set sync_until = now() + $3::bigint * interval '1 millisecond'
where id = $1::bigint and sync_until = $2::text::timestamptz
returning sync_until::text

-- name: plan_sync_release :exec
update {p}.subscription_plans set sync_until = null where id = $1::bigint and sync_until = $2::text::timestamptz

-- name: plan_sync_read :opt
select p.name, p.description, p.is_active, p.amount_minor, p.currency, p.billing_interval, p.interval_count,
       p.processor_product_id as product, p.processor_price_id as price, p.processor_account as account,
       jsonb_build_array(p.name, p.description, p.is_active)::text as product_state,
       jsonb_build_array(p.amount_minor, p.currency, p.billing_interval, p.interval_count)::text as price_state,
       p.synced ->> 'product' as known_product, p.synced ->> 'price' as known_price,
       array(select jsonb_array_elements_text(p.synced -> 'retired')) as retired,
       coalesce((p.synced ->> 'failures')::bigint, 0) as failures
from {p}.subscription_plans p where p.id = $1::bigint

-- What was told, also when the plan says something else by now.
-- name: plan_sync_write :exec
update {p}.subscription_plans
set processor_product_id = $3::text, processor_price_id = $4::text, processor_account = $5::text,
  synced = jsonb_build_object('product', $6::text, 'price', $7::text, 'retired', to_jsonb($8::text[]), 'error', $9::text,
    'failures', $10::bigint)
where id = $1::bigint and sync_until = $2::text::timestamptz
