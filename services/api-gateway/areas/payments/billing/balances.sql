-- Balances of users, one row per unit. Every change adds an entry with the balance after the change.

-- part: balance
select {columns} from {p}.balances b

-- part: columns
b.id:bigint, b.user_id:bigint, b.unit:text,
  trim_scale(b.amount_minor / {decimals}) as amount:numeric, b.amount_minor:bigint,
  b.created_at:timestamptz, b.updated_at:timestamptz

-- Minor units in one unit of the currency; 1 for a unit that is no currency.
-- part: decimals
case when length(b.unit) <> 3 or b.unit in ({zero_decimal})
       then 1
     when b.unit in ({three_decimal}) then 1000 else 100 end::numeric

-- name: balances_list :page sort(id,user_id,unit,amount_minor,updated_at) row(balance)
{balance}
where :unit::text? is null or b.unit = :unit::text

-- name: balances_of :many row(balance)
{balance}
where b.user_id = :user_id::bigint order by b.unit

-- name: balance_user :opt
select u.id from {p}.users u where u.id = :id::bigint

-- name: balance_entries_desc :many args(balance_entries)
select b.id, b.user_id, b.unit, trim_scale(b.delta_minor / {decimals}) as delta, b.delta_minor,
  trim_scale(b.balance_minor / {decimals}) as balance, b.balance_minor, b.reason, b.reference, b.actor_id, b.created_at
from {p}.balance_entries b
where b.user_id = :user_id::bigint and (:unit::text? is null or b.unit = :unit::text) and b.id < :behind::bigint
order by b.id desc limit :limit::bigint offset :offset::bigint

-- name: balance_entries_asc :many args(balance_entries)
select b.id, b.user_id, b.unit, trim_scale(b.delta_minor / {decimals}) as delta, b.delta_minor,
  trim_scale(b.balance_minor / {decimals}) as balance, b.balance_minor, b.reason, b.reference, b.actor_id, b.created_at
from {p}.balance_entries b
where b.user_id = :user_id::bigint and (:unit::text? is null or b.unit = :unit::text) and b.id > :behind::bigint
order by b.id limit :limit::bigint offset :offset::bigint

-- name: balance_entries_count :one args(balance_entries)
select count(*) as total_items from {p}.balance_entries b
where b.user_id = :user_id::bigint and (:unit::text? is null or b.unit = :unit::text)

-- name: balance_open :exec
insert into {p}.balances (user_id, unit) values (:user_id::bigint, :unit::text) on conflict do nothing

-- Returns no row when the user holds too little, or would hold more than a JSON number carries exactly.
-- name: balance_change :opt row(balance)
update {p}.balances as b set amount_minor = b.amount_minor + :delta_minor::bigint,
  updated_at = greatest(now(), b.updated_at)
where b.user_id = :user_id::bigint and b.unit = :unit::text and (:may_fall::boolean
  or b.amount_minor + :delta_minor::bigint >= 0)
  and b.amount_minor + :delta_minor::bigint between -:most::bigint and :most::bigint
returning {columns}

-- name: balance_entry :one
insert into {p}.balance_entries (user_id, unit, delta_minor, balance_minor, reason, reference, actor_id)
values (:user_id::bigint, :unit::text, :delta_minor::bigint, :balance_minor::bigint, :reason::text, :reference::text,
  :actor_id::bigint?)
returning id as id:bigint
