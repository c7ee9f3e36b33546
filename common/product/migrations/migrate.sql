-- Statements of the migrator. DDL is built in migrate.c.

-- name: migrate_recorded :many
select m.area:text, m.number:integer, m.name:text, m.sha256:text from platform.migrations m order by m.area, m.number;

-- name: migrate_record :exec
insert into platform.migrations (area, number, name, sha256)
values (:area::text, :number::integer, :name::text, :sha256::text);

-- name: migrate_behind :many
select p.number:bigint, p.slug:text, p.server:text from platform.projects p where p.state = 'active'
  and p.migration < :migration::integer order by p.number;

-- name: migrate_project_done :exec
update platform.projects set migration = :migration::integer where number = :number::bigint;

-- Serializes migrators of one project at its meta row.
-- name: migrate_project_lock :one
select m.model_version as model_version from {p}.meta m for update;

-- name: migrate_project_recorded :many
select s.key:text, s.doc ->> 'sha256' as sha256:text? from {p}.settings s where s.kind = 'migration';

-- name: migrate_project_record :exec
insert into {p}.settings (kind, key, doc)
values ('migration', :key::text, jsonb_build_object('name', :name::text, 'sha256', :sha256::text));
