-- Transactions that count resources of one kind and owner wait for each other, within one project's schema.
-- name: limit_lock :exec
select pg_advisory_xact_lock(hashtextextended('{p}.' || :kind::text || '.' || :owner::bigint, 0))
