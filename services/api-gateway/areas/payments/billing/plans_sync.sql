-- The sync of plans with the processor. `synced` is {"product": state, "price": state, "retired": [prices to make
-- inactive], "error": message of the last failure, "failures": number of failures}. One gateway at a time syncs a plan:
-- sync_until is the end of its lease and also the lease's token.

-- name: plan_sync_claim :opt row(plan_sync_lease)
update {p}.subscription_plans
set sync_until = now() + :lease_ms::bigint * interval '1 millisecond'
where id = :id::bigint and (sync_until is null or sync_until <= now())
returning sync_until::text as lease:text

-- name: plan_sync_extend :opt row(plan_sync_lease)
update {p}.subscription_plans
set sync_until = now() + :lease_ms::bigint * interval '1 millisecond'
where id = :id::bigint and sync_until = :sync_until::text::timestamptz
returning sync_until::text as lease:text

-- name: plan_sync_release :exec
update {p}.subscription_plans set sync_until = null where id = :id::bigint
  and sync_until = :sync_until::text::timestamptz

-- name: plan_sync_read :opt
select p.name:text?, p.description:text?, p.is_active:boolean, p.amount_minor:bigint, p.currency:text,
       p.billing_interval:text, p.interval_count:integer, p.processor_product_id as product:text?,
       p.processor_price_id as price:text?, p.processor_account as account:text?,
       jsonb_build_array(p.name, p.description, p.is_active)::text as product_state:text,
       jsonb_build_array(p.amount_minor, p.currency, p.billing_interval, p.interval_count)::text as price_state:text,
       p.synced ->> 'product' as known_product:text?, p.synced ->> 'price' as known_price:text?,
       array(select jsonb_array_elements_text(p.synced -> 'retired')) as retired:text[],
       coalesce((p.synced ->> 'failures')::bigint, 0) as failures:bigint
from {p}.subscription_plans p where p.id = :id::bigint

-- Writes the state that was sent, even if the plan has changed since.
-- name: plan_sync_write :exec
update {p}.subscription_plans
set processor_product_id = :processor_product_id::text, processor_price_id = :processor_price_id::text,
  processor_account = :processor_account::text,
  synced = jsonb_build_object('product', :known_product::text, 'price', :known_price::text, 'retired',
  to_jsonb(:retired::text[]), 'error', :error::text,
    'failures', :failures::bigint)
where id = :id::bigint and sync_until = :sync_until::text::timestamptz
