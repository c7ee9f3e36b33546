-- The ledger: rows of files, the garbage list (keys whose bytes are not files), and the totals.

-- name: file_project_add :exec
insert into platform.file_projects (number) values (:number::bigint) on conflict do nothing

-- name: file_projects_any :one
select exists (select from platform.file_projects) as used:boolean

-- Runs before the first byte is stored. If the process dies afterwards, this row tells the collector which key to remove.
-- name: file_garbage_add :exec
insert into {p}.file_garbage (key, due_at) values (:key::text, now() + make_interval(secs => :seconds::bigint))

-- name: file_totals_get :one
select t.bytes as bytes:bigint, t.files as files:bigint from {p}.file_totals t

-- Returns no row when the collector has taken the key.
-- name: file_garbage_keep :opt
delete from {p}.file_garbage g where g.key = :key::text and not g.taken returning g.key

-- name: file_add :one
insert into {p}.files (key, filename, mime_type, kind, size, sha256, folder_id, is_public, created_by, width, height, duration)
values (:key::text, :filename::text, :mime_type::text, :kind::text, :size::bigint, :sha256::bytea, :folder_id::bigint?,
  :is_public::boolean, :created_by::bigint, :width::bigint?, :height::bigint?, :duration::float8?)
returning id as id:bigint

-- Returns no row when the bytes would exceed the quota; a quota of 0 means no limit.
-- name: file_totals_add :opt
update {p}.file_totals t set bytes = t.bytes + :bytes::bigint, files = t.files + :files::bigint
where :quota::bigint = 0 or :bytes::bigint <= 0 or t.bytes + :bytes::bigint <= :quota::bigint
returning t.bytes

-- name: file_save :opt
update {p}.files f
set filename = coalesce(:filename::text?, f.filename),
    folder_id = case when :folder_set::boolean then :folder_id::bigint? else f.folder_id end,
    is_public = coalesce(:is_public::boolean?, f.is_public),
    updated_at = greatest(now(), f.updated_at)
where f.id = :id::bigint
returning f.id

-- Stores width, height and duration that were read again after the upload.
-- name: file_looked :opt
update {p}.files f set width = :width::bigint?, height = :height::bigint?, duration = :duration::float8?
where f.id = :id::bigint
returning f.id

-- name: files_remove :many
delete from {p}.files f where f.id = any(:ids::bigint[]) returning f.key as key:text, f.size as size:bigint

-- name: file_garbage_take :exec
insert into {p}.file_garbage (key, taken, due_at) select unnest(:keys::text[]), true, now() + make_interval(secs => :seconds::bigint)

-- Takes the key of a failed upload. Returns no row when the upload has been committed after all or the key is taken already.
-- name: file_garbage_claim :opt
update {p}.file_garbage g set taken = true, due_at = now() + make_interval(secs => :seconds::bigint)
where g.key = :key::text and not g.taken
returning g.key

-- name: file_garbage_done :exec
delete from {p}.file_garbage g where g.key = any(:keys::text[])

-- Takes due keys and makes them due again later, in case this process dies before it has removed their bytes.
-- name: file_garbage_due :many
update {p}.file_garbage g set taken = true, due_at = now() + make_interval(secs => :seconds::bigint)
where g.key in (
  select d.key from {p}.file_garbage d where d.due_at <= now() order by d.due_at limit :most::bigint for update skip locked)
returning g.key as key:text

-- Takes the projects that are due, each for one process at a time. Server and state are null when the project is deleted.
-- name: file_projects_due :many
update platform.file_projects f set due_at = now() + make_interval(secs => :seconds::bigint)
from (
  select d.number from platform.file_projects d where d.due_at <= now()
  order by d.due_at limit :most::bigint for update skip locked) as due
where f.number = due.number
returning f.number as number:bigint, (select p.server from platform.projects p where p.number = f.number) as server:text?,
  (select p.state from platform.projects p where p.number = f.number) as state:text?

-- name: file_project_again :exec
update platform.file_projects f set due_at = now() where f.number = :number::bigint

-- name: file_project_gone :exec
delete from platform.file_projects f where f.number = :number::bigint

-- name: folder_add :one
insert into {p}.folders (name, parent_id, created_by) values (:name::text, :parent_id::bigint?, :created_by::bigint)
returning id as id:bigint

-- name: folder_save :opt
update {p}.folders f
set name = coalesce(:name::text?, f.name),
    parent_id = case when :parent_set::boolean then :parent_id::bigint? else f.parent_id end,
    updated_at = greatest(now(), f.updated_at)
where f.id = :id::bigint
returning f.id

-- name: folder_remove :opt
delete from {p}.folders f where f.id = :id::bigint returning f.id

-- Serializes moves of folders, so that two concurrent moves cannot form a cycle.
-- name: folders_lock :one
select t.id from {p}.file_totals t for update

-- Returns the depth of a folder (1 = at the top, 0 = no such folder), and whether the folder is :other or inside of it.
-- name: folder_place :one
with recursive up as (
  select f.id, f.parent_id, 1 as depth from {p}.folders f where f.id = :id::bigint
  union all
  select f.id, f.parent_id, up.depth + 1 from {p}.folders f join up on f.id = up.parent_id where up.depth <= 100)
select coalesce(max(up.depth), 0) as depth:integer, coalesce(bool_or(up.id = :other::bigint), false) as inside:boolean from up

-- Returns how many levels a folder has, including its own.
-- name: folder_height :one
with recursive down as (
  select f.id, 1 as depth from {p}.folders f where f.id = :id::bigint
  union all
  select f.id, down.depth + 1 from {p}.folders f join down on f.parent_id = down.id where down.depth <= 100)
select coalesce(max(down.depth), 0) as height:integer from down

-- Returns all storage figures of one snapshot: totals, by entity and by kind.
-- name: storage_report :one
select t.bytes, t.files,
  (select jsonb_build_object('bytes', coalesce(sum(v.size), 0), 'files', count(*)) from {p}.file_variants v) as variants,
  coalesce((select jsonb_agg(jsonb_build_object('entity', x.entity, 'bytes', x.bytes, 'files', x.files) order by x.entity nulls first)
    from (select e.name as entity, sum(f.size)::bigint as bytes, count(*) as files
          from {p}.files f left join {p}.entities e on e.id = f.entity_id group by e.name) x), '[]') as entities,
  coalesce((select jsonb_agg(jsonb_build_object('kind', x.kind, 'bytes', x.bytes, 'files', x.files) order by x.kind)
    from (select f.kind, sum(f.size)::bigint as bytes, count(*) as files from {p}.files f group by f.kind) x), '[]') as kinds
from {p}.file_totals t
