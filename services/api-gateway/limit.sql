-- Writers that count resources of one kind and owner wait for each other; the schema's name keeps projects apart.
-- name: limit_lock :exec
select pg_advisory_xact_lock(hashtextextended('{p}.' || :kind::text || '.' || :owner::bigint, 0))
