-- What users hold, by unit; every change is an entry with the balance after it.

-- part: balance
select {columns} from {p}.balances b

-- part: columns
b.id, b.user_id, b.unit, trim_scale(b.amount_minor / {decimals}) as amount, b.amount_minor, b.created_at, b.updated_at

-- Minor units in decimals; a unit that is no currency has none.
-- part: decimals
case when length(b.unit) <> 3 or b.unit in ({zero_decimal})
       then 1
     when b.unit in ({three_decimal}) then 1000 else 100 end::numeric

-- name: balances_list :page sort(id,user_id,unit,amount_minor,updated_at)
{balance}
where $1::text is null or b.unit = $1::text

-- name: balances_of :many
{balance}
where b.user_id = $1::bigint order by b.unit

-- name: balance_user :opt
select u.id from {p}.users u where u.id = $1::bigint

-- name: balance_entries_desc :many
select b.id, b.user_id, b.unit, trim_scale(b.delta_minor / {decimals}) as delta, b.delta_minor,
  trim_scale(b.balance_minor / {decimals}) as balance, b.balance_minor, b.reason, b.reference, b.actor_id, b.created_at
from {p}.balance_entries b
where b.user_id = $1::bigint and ($2::text is null or b.unit = $2::text) and b.id < $3::bigint
order by b.id desc limit $4::bigint offset $5::bigint

-- name: balance_entries_asc :many
select b.id, b.user_id, b.unit, trim_scale(b.delta_minor / {decimals}) as delta, b.delta_minor,
  trim_scale(b.balance_minor / {decimals}) as balance, b.balance_minor, b.reason, b.reference, b.actor_id, b.created_at
from {p}.balance_entries b
where b.user_id = $1::bigint and ($2::text is null or b.unit = $2::text) and b.id > $3::bigint
order by b.id limit $4::bigint offset $5::bigint

-- name: balance_entries_count :one
select count(*) as total_items from {p}.balance_entries b
where b.user_id = $1::bigint and ($2::text is null or b.unit = $2::text)

-- name: balance_open :exec
insert into {p}.balances (user_id, unit) values ($1::bigint, $2::text) on conflict do nothing

-- No row: the user holds too little, or would hold more than a JSON number carries exactly.
-- name: balance_change :opt
update {p}.balances as b set amount_minor = b.amount_minor + $3::bigint, updated_at = greatest(now(), b.updated_at)
where b.user_id = $1::bigint and b.unit = $2::text and ($4::boolean or b.amount_minor + $3::bigint >= 0)
  and b.amount_minor + $3::bigint between -$5::bigint and $5::bigint
returning {columns}

-- name: balance_entry :one
insert into {p}.balance_entries (user_id, unit, delta_minor, balance_minor, reason, reference, actor_id)
values ($1::bigint, $2::text, $3::bigint, $4::bigint, $5::text, $6::text, $7::bigint)
returning id
