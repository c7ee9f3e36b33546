-- name: entitlement_user :opt
select u.id from {p}.users u where u.id = :id::bigint
