-- Who works with tables that another role may have made.

-- name: grants_role :one
select quote_ident(current_user) as role:text;
