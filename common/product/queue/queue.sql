-- How the statements behind it in their transaction are planned. A connection keeps a plan until its tables are analyzed: one
-- from when a table was small would read all of it for each row once it has grown.

-- No table is read as a whole.
-- name: plan_by_key :one
select set_config('enable_seqscan', 'off', true)

-- Nor joined as a whole: a row is found by its key for each row that names it.
-- name: plan_by_index :one
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true)

-- name: plan_freely :one
select set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true),
  set_config('enable_mergejoin', 'on', true)
