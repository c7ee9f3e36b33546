-- Customers at the processor, one row per address.

-- name: pay_user_email :opt
select u.email:text from {p}.users u where u.id = :id::bigint

-- name: pay_customer_add :exec
insert into {p}.payment_customers (email, subscriber_id)
values (:email::text, :subscriber_id::bigint?)
on conflict (email) do nothing

-- name: pay_customer_get :opt
select c.id:bigint, c.subscriber_id:bigint?, c.provider_id:text?, c.account:text?,
  (extract(epoch from c.updated_at) * 1000000)::bigint as since_us:bigint
from {p}.payment_customers c where c.email = :email::text

-- Concurrent requests that create the customer create the same one, because their calls have the same key.
-- name: pay_customer_set :exec
update {p}.payment_customers
set provider_id = :provider_id::text, account = :account::text, subscriber_id = coalesce(:subscriber_id::bigint?,
  subscriber_id),
  updated_at = greatest(now(), updated_at)
where id = :id::bigint

-- The processor stores failures under a key, too. A new updated_at gives the next attempt another key.
-- name: pay_customer_again :exec
update {p}.payment_customers set updated_at = greatest(now(), updated_at) where id = :id::bigint

-- The customer was deleted at the processor, or belongs to a former account. The next request creates another.
-- name: pay_customer_gone :exec
update {p}.payment_customers set provider_id = null, updated_at = greatest(now(),
  updated_at) where provider_id = :provider_id::text
