-- Mail that requests cause.

-- As addresses of accounts are kept.
-- name: mail_address :one
select lower(normalize(:email::text)) as email:text!
