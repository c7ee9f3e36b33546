-- What the processor knows of a plan: `synced` is {"product": state, "price": state, "retired": [prices that are still to
-- be made inactive], "error": what it said last, "failures": how often it has failed}.

-- part: product_state
jsonb_build_array(p.name, p.description, p.is_active)::text
-- part: price_state
jsonb_build_array(p.amount_minor, p.currency, p.billing_interval, p.interval_count)::text

-- name: plan_sync_read :opt
select p.name, p.description, p.is_active, p.amount_minor, p.currency, p.billing_interval, p.interval_count,
       p.processor_product_id as product, p.processor_price_id as price, p.processor_account as account,
       {product_state} as product_state, {price_state} as price_state,
       p.synced ->> 'product' as known_product, p.synced ->> 'price' as known_price,
       array(select jsonb_array_elements_text(p.synced -> 'retired')) as retired,
       coalesce((p.synced ->> 'failures')::bigint, 0) as failures
from {p}.subscription_plans p where p.id = $1::bigint

-- Only over what was read: whoever changed the plan, or told of it, meanwhile goes on from what it finds.
-- name: plan_sync_write :exec
update {p}.subscription_plans p
set processor_product_id = $5::text, processor_price_id = $6::text, processor_account = $7::text,
  synced = jsonb_build_object('product', $8::text, 'price', $9::text, 'retired', to_jsonb($10::text[]), 'error', $11::text,
    'failures', $12::bigint)
where p.id = $1::bigint and {product_state} = $2::text and {price_state} = $3::text
  and p.processor_price_id is not distinct from $4::text

-- Product and price are about to be made inactive: who saves the plan again begins with making it active.
-- name: plan_sync_forget :exec
update {p}.subscription_plans
set synced = jsonb_build_object('retired', coalesce(synced -> 'retired', '[]'::jsonb))
where id = $1::bigint
