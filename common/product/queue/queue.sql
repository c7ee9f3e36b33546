-- Restricts how the following statements of the transaction are planned. A connection keeps a plan until its tables are
-- analyzed. A plan made while a table was small would read the whole table for each row once the table has grown.

-- No sequential scan of a table.
-- name: plan_by_key :one
select set_config('enable_seqscan', 'off', true)

-- Also no hash or merge join: each row is found by its key.
-- name: plan_by_index :one
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true)

-- name: plan_freely :one
select set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true),
  set_config('enable_mergejoin', 'on', true)
