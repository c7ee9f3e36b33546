-- Indexes of texts in the order of the project's locale (0003_model.sql).

-- Projects to check: after each change of model or settings, and once an hour. The hourly check finds changes that are not
-- announced, such as another version of ICU or a gateway that died before it announced a change.
-- name: text_index_projects :many
select p.number:bigint, p.server:text, p.epoch:bigint
from platform.projects p left join platform.text_index_checks l on l.number = p.number
where p.state = 'active' and (l.number is null or l.epoch <> p.epoch or l.checked_at < now() - interval '1 hour')
order by p.number

-- name: text_indexes_poll :one
select exists (select 1 from {p}.text_indexes_wrong()) as due:boolean

-- :epoch is the project's epoch before the check.
-- name: text_indexes_checked :exec
insert into platform.text_index_checks as l (number, epoch)
select p.number, :epoch::bigint from platform.projects p where p.number = :number::bigint
on conflict (number) do update set epoch = excluded.epoch, checked_at = now()

-- The lock belongs to the server's process that builds the index, which continues for a while when a runner dies.
-- name: text_indexes_lock :one
select pg_try_advisory_lock(hashtextextended('{p}.text_indexes', 0)) as locked:boolean

-- Releases the lock at once, because the server takes a moment to end a session.
-- name: text_indexes_unlock :one
select pg_advisory_unlock(hashtextextended('{p}.text_indexes', 0)) as unlocked:boolean

-- name: text_index_next :opt
select w.name:text, w.entity_id:bigint?, w.field_id:bigint?, w.made:boolean, {p}.text_collation() as collation:text
from {p}.text_indexes_wrong() w order by not w.made, w.field_id limit 1
