-- Data keys of a project. Statements on sealed columns are built in keys/rotate.c.

-- name: data_keys_list :one
select coalesce(array_agg(k.id::bigint order by k.id), '{}') as key_ids:bigint[],
  coalesce(array_agg(encode(k.wrapped, 'hex') order by k.id), '{}') as key_texts:text[],
  coalesce(bool_or(k.retired_at is null and k.id < (select max(n.id) from {p}.data_keys n)), false)
    as unfinished:boolean
from {p}.data_keys k;

-- name: data_keys_all :many
select k.id:integer, k.wrapped:bytea from {p}.data_keys k order by k.id;

-- name: data_key_add :exec
insert into {p}.data_keys (id, wrapped) values (:id::integer, :wrapped::bytea) on conflict (id) do nothing;

-- name: data_key_rewrap :exec
update {p}.data_keys set wrapped = :wrapped::bytea where id = :id::integer and wrapped = :before::bytea;

-- name: data_keys_retire :exec
update {p}.data_keys set retired_at = now() where id < :id::integer and retired_at is null;

-- Serializes rotations of one project.
-- name: data_keys_lock :one
select m.id as id from {p}.meta m for update;

-- Reads a value that was sealed before data keys were wrapped. The value shows from which master key its key derives.
-- name: data_key_legacy :opt
select s.kind:text, s.key:text, s.sealed:bytea! from {p}.settings s
where substring(s.sealed from 2 for 4) = '\x00000000'::bytea
order by s.kind = 'signing_key' desc, s.id desc
limit 1;

-- name: data_key_projects :many
select p.number:bigint, p.slug:text, p.server:text from platform.projects p where p.state = 'active' order by p.number;

-- name: data_key_touch :opt
update platform.projects as p set epoch = p.epoch + 1
where p.number = :number::bigint and p.state = 'active'
returning p.epoch:bigint;
