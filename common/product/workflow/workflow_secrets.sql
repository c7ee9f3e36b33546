-- Secrets that a job uses, and all secrets, for masking.

-- name: secrets_by_name :many
select s.name:text, s.sealed:bytea, s.allowed_hosts:text[]? from {p}.secrets s where s.name = any(:names::text[])

-- name: secrets_all :many
select s.name:text, s.sealed:bytea from {p}.secrets s order by s.name
