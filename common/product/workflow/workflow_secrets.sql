-- Secrets that a job needs.

-- name: secrets_by_name :many
select s.name as name, s.sealed as sealed, s.allowed_hosts as allowed_hosts from {p}.secrets s where s.name = any($1::text[])
