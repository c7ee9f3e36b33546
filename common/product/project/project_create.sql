-- Life of a project: its control row, and the seeds of its schema.

-- name: create_claim :opt
insert into platform.projects as p (slug, name, server, partition)
values ($1::text, $2::text, 'main', $3::smallint)
on conflict (slug) do nothing
returning p.number as number;

-- name: create_reclaim :opt
update platform.projects as p set name = $2::text, updated_at = greatest(now(), p.updated_at)
where p.slug = $1::text and p.state = 'creating' and p.updated_at < now() - interval '30 seconds'
returning p.number as number;

-- name: create_done :exec
update platform.projects set state = 'active', migration = $2::integer, updated_at = greatest(now(), updated_at)
where number = $1::bigint and state = 'creating';

-- name: create_undo :exec
delete from platform.projects where number = $1::bigint and state = 'creating';

-- name: seed_roles :exec
insert into {p}.roles (name, description, is_admin, is_default, api_access)
values ('Admin User', 'Full access', true, false, true),
  ('Standard User', 'What every user may do', false, true, true);

-- name: seed_permissions :exec
insert into {p}.role_permissions (role_id, permission)
select r.id, held.name from {p}.roles r cross join unnest($1::text[]) as held (name)
where r.name = 'Standard User';

-- name: seed_settings :exec
insert into {p}.settings (kind, key) values ('setting', 'project');

-- name: seed_signing_key :exec
insert into {p}.settings (kind, key, doc, sealed) values ('signing_key', $1::text, $2::jsonb, $3::bytea);

-- name: seed_admin :exec
insert into {p}.users (email, password_hash, status, email_confirmed_at)
values ($1::text, $2::text, 'active', now());

-- name: seed_admin_role :exec
insert into {p}.user_roles (user_id, role_id)
select u.id, r.id from {p}.users u cross join {p}.roles r where u.email = $1::text and r.name = 'Admin User';

-- name: delete_begin :opt
update platform.projects as p set state = 'deleting', epoch = p.epoch + 1, updated_at = greatest(now(), p.updated_at)
where p.number = $1::bigint and p.state in ('active', 'deleting')
returning p.epoch as epoch;

-- name: delete_claim :many
update platform.projects as p set updated_at = greatest(now(), p.updated_at)
where p.state = 'deleting' and p.updated_at < now() - interval '60 seconds'
returning p.number as number, p.server as server;

-- name: delete_tables :many
select c.relname as name from pg_catalog.pg_class c
where c.relnamespace = to_regnamespace($1::text) and c.relkind = 'r' and c.relname ~ '^[el]_[0-9]+$'
order by c.oid limit 50;

-- name: delete_done :exec
delete from platform.projects where number = $1::bigint and state = 'deleting';
