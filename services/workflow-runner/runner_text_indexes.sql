-- Indexes of texts in the order of the project's locale (0061_text_indexes.sql).

-- A change of the locale is a change of the project; who sees the setting of before may still change the model for a while. Once an
-- hour for what nobody announces: another version of ICU, a gateway of an earlier release.
-- name: text_index_projects :many
select p.number:bigint, p.server:text
from platform.projects p left join platform.text_index_looks l on l.number = p.number
where p.state = 'active' and (l.looked_at is null or l.looked_at < now() - interval '1 hour' or p.updated_at > now() - interval '2 minutes')
order by p.number

-- name: text_indexes_look :one
select exists (select 1 from {p}.text_indexes_wrong()) as due:boolean

-- Not with each of the looks that follow a change.
-- name: text_indexes_looked :exec
insert into platform.text_index_looks as l (number) select p.number from platform.projects p where p.number = :number::bigint
on conflict (number) do update set looked_at = now() where l.looked_at < now() - interval '1 minute'

-- Of the session, and so of the server's process that makes the index: when a runner dies it goes on for a while.
-- name: text_indexes_lock :one
select pg_try_advisory_lock(hashtextextended('{p}.text_indexes', 0)) as locked:boolean

-- name: text_index_next :opt
select w.name:text, w.entity_id:bigint?, w.field_id:bigint?, w.made:boolean, {p}.text_collation() as collation:text
from {p}.text_indexes_wrong() w order by not w.made, w.field_id limit 1
