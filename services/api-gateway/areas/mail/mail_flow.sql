-- Mail that requests cause.

-- An address in the form in which accounts store it.
-- name: mail_address :one
select lower(normalize(:email::text)) as email:text!
