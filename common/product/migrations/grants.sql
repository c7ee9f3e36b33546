-- Returns the role of the connection, which uses tables that the role of GROUNDWORK_DATABASE_DDL_URL may have created.

-- name: grants_role :one
select quote_ident(current_user) as role:text;
