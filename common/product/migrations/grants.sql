-- The role that uses tables which another role may have created.

-- name: grants_role :one
select quote_ident(current_user) as role:text;
