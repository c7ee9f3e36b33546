-- The users, groups and roles that records are granted to.
-- name: source_grants :many
select g.record_id:bigint, g.kind:smallint, g.grantee_id:bigint from {p}.record_grants g
where g.entity_id = :entity_id::bigint and g.record_id = any(:ids::bigint[]) order by g.record_id;
