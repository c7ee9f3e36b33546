-- Secrets that a job needs.

-- name: secrets_by_name :many
select s.name as name, s.sealed as sealed from {p}.secrets s where s.name = any($1::text[])
