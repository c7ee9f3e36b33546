-- Life of a project: its control row, and the seeds of its schema.

-- name: create_claim :opt row(create)
insert into platform.projects as p (slug, name, server, partition)
values (:slug::text, :name::text, 'main', :partition::smallint)
on conflict (slug) do nothing
returning p.number:bigint;

-- name: create_reclaim :opt row(create)
update platform.projects as p set name = :name::text, updated_at = greatest(now(), p.updated_at)
where p.slug = :slug::text and p.state = 'creating' and p.updated_at < now() - interval '30 seconds'
returning p.number:bigint;

-- name: create_done :exec
update platform.projects set state = 'active', migration = :migration::integer, updated_at = greatest(now(), updated_at)
where number = :number::bigint and state = 'creating';

-- name: create_undo :exec
delete from platform.projects where number = :number::bigint and state = 'creating';

-- name: seed_roles :exec
insert into {p}.roles (name, description, is_admin, is_default, api_access)
values ('Admin User', 'Full access', true, false, true),
  ('Standard User', 'What every user may do', false, true, true);

-- name: seed_permissions :exec
insert into {p}.role_permissions (role_id, permission)
select r.id, held.name from {p}.roles r cross join unnest(:permissions::text[]) as held (name)
where r.name = 'Standard User';

-- name: seed_settings :exec
insert into {p}.settings (kind, key) values ('setting', 'project');

-- name: seed_signing_key :exec
insert into {p}.settings (kind, key, doc, sealed) values ('signing_key', :key::text, :doc::jsonb, :sealed::bytea);

-- name: seed_admin :exec
insert into {p}.users (email, password_hash, status, email_confirmed_at)
values (lower(normalize(:email::text)), :password_hash::text, 'active', now());

-- name: seed_admin_role :exec
insert into {p}.user_roles (user_id, role_id)
select u.id, r.id from {p}.users u cross join {p}.roles r where u.email = lower(normalize(:email::text)) and r.name = 'Admin User';

-- name: delete_begin :opt
update platform.projects as p set state = 'deleting', epoch = p.epoch + 1, updated_at = greatest(now(), p.updated_at)
where p.number = :number::bigint and p.state in ('active', 'deleting')
returning p.epoch:bigint;

-- name: delete_claim :many
update platform.projects as p set updated_at = greatest(now(), p.updated_at)
where p.state = 'deleting' and p.updated_at < now() - interval '60 seconds'
returning p.number:bigint, p.server:text;

-- name: delete_tables :many
select c.relname as name:name from pg_catalog.pg_class c
where c.relnamespace = to_regnamespace(:schema::text) and c.relkind = 'r' and c.relname ~ '^[el]_[0-9]+$'
order by c.oid limit 50;

-- name: delete_done :exec
delete from platform.projects where number = :number::bigint and state = 'deleting';
