-- The migrator's own statements. DDL is built in migrate.c.

-- name: migrate_recorded :many
select m.area as area, m.number as number, m.name as name, m.sha256 as sha256
from platform.migrations m order by m.area, m.number;

-- name: migrate_record :exec
insert into platform.migrations (area, number, name, sha256) values ($1::text, $2::integer, $3::text, $4::text);

-- name: migrate_behind :many
select p.number as number, p.slug as slug, p.server as server
from platform.projects p where p.state = 'active' and p.migration < $1::integer order by p.number;

-- name: migrate_project_done :exec
update platform.projects set migration = $2::integer where number = $1::bigint;

-- Migrators of one project wait for each other at its meta row.
-- name: migrate_project_lock :one
select m.model_version as model_version from {p}.meta m for update;

-- name: migrate_project_recorded :many
select s.key as key, s.doc ->> 'sha256' as sha256 from {p}.settings s where s.kind = 'migration';

-- name: migrate_project_record :exec
insert into {p}.settings (kind, key, doc)
values ('migration', $1::text, jsonb_build_object('name', $2::text, 'sha256', $3::text));
