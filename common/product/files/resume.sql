-- Resumable uploads.

-- Taken before the uploads are counted, so that concurrent creations count one after the other.
-- name: resume_lock :exec
select pg_advisory_xact_lock(hashtextextended('{p}.file_uploads', 0))

-- Unfinished uploads of the project, and of one user.
-- name: resume_under_way :one
select count(*) as of_project:bigint, count(*) filter (where u.created_by = :created_by::bigint) as of_user:bigint,
  coalesce(sum(u.length), 0)::bigint + (select t.bytes from {p}.file_totals t) as bytes:bigint
from {p}.file_uploads u where u.file_id is null and u.expires_at > now()

-- name: resume_add :one
insert into {p}.file_uploads (id, length, filename, metadata, folder_id, is_public, created_by, expires_at)
values (:id::text, :length::bigint, :filename::text, :metadata::text, :folder_id::bigint?, :is_public::boolean, :created_by::bigint,
  now() + make_interval(secs => :seconds::bigint))
returning expires_at as expires_at:timestamptz

-- name: resume_get :opt
select u.length as length:bigint, u.received as received:bigint, u.filename as filename:text, u.metadata as metadata:text,
  u.folder_id as folder_id:bigint?, u.is_public as is_public:boolean, u.file_id as file_id:bigint?, u.expires_at as expires_at:timestamptz
from {p}.file_uploads u where u.id = :id::text and u.created_by = :created_by::bigint and u.expires_at > now()

-- name: resume_parts :many
select p.key as key:text, p.size as size:bigint from {p}.file_upload_parts p where p.upload_id = :id::text order by p.position

-- Stores the next part and postpones its removal until the upload has expired. Returns no row when another request has continued
-- the upload or the collector has taken the key.
-- name: resume_keep :opt
with moved as (
  update {p}.file_uploads u set received = u.received + :size::bigint
  where u.id = :id::text and u.received = :position::bigint and u.file_id is null and u.expires_at > now()
  returning u.id, u.expires_at),
due as (
  update {p}.file_garbage g set due_at = m.expires_at + interval '1 hour' from moved m
  where g.key = :key::text and not g.taken
  returning g.key)
insert into {p}.file_upload_parts (upload_id, position, key, size)
select m.id, :position::bigint, d.key, :size::bigint from moved m, due d
returning upload_id

-- Runs in the transaction that has inserted the file's row.
-- name: resume_done :opt
with done as (
  update {p}.file_uploads u set received = u.length, file_id = f.id
  from {p}.files f
  where f.key = :key::text and u.id = :id::text and u.received = :position::bigint and u.file_id is null
  returning u.id),
parts as (delete from {p}.file_upload_parts p using done d where p.upload_id = d.id returning p.key),
gone as (update {p}.file_garbage g set taken = true, due_at = now() from parts p where g.key = p.key)
select d.id as id:text from done d

-- name: resume_remove :opt
with parts as (
  select p.key from {p}.file_upload_parts p join {p}.file_uploads u on u.id = p.upload_id
  where u.id = :id::text and u.created_by = :created_by::bigint),
gone as (update {p}.file_garbage g set taken = true, due_at = now() from parts p where g.key = p.key)
delete from {p}.file_uploads u where u.id = :id::text and u.created_by = :created_by::bigint
returning u.id as id:text

-- name: resume_expire :exec
delete from {p}.file_uploads u where u.expires_at < now()
