-- Secrets of a project, by name. The value is sealed, and only the workflow runner reads it.

-- part: secret
select s.name, s.version, s.allowed_hosts, s.created_at, s.updated_at from {p}.secrets s

-- name: secrets_list :page sort(name,created_at,updated_at)
{secret}

-- name: secret_get :opt
{secret} where s.name = :name::text

-- name: secrets_count :one
select count(*) as secrets:bigint from {p}.secrets

-- name: secret_add :opt
insert into {p}.secrets as s (name, sealed, allowed_hosts) values (:name::text, :sealed::bytea, :allowed_hosts::text[]?)
on conflict (name) do nothing
returning s.name, s.version, s.allowed_hosts, s.created_at, s.updated_at

-- name: secret_set :opt
update {p}.secrets s set sealed = :sealed::bytea, version = s.version + 1, updated_at = greatest(now(), s.updated_at),
  allowed_hosts = case when :set_hosts::boolean then :allowed_hosts::text[]? else s.allowed_hosts end
where s.name = :name::text
returning s.name, s.version, s.allowed_hosts, s.created_at, s.updated_at

-- name: secret_remove :opt
delete from {p}.secrets s where s.name = :name::text returning s.name

-- Enabled workflows whose text contains the name: they may use the secret.
-- name: secret_mentions :many
select w.id:bigint, w.name:text, v.doc || jsonb_build_object('name', w.name) as doc:jsonb
from {p}.workflows w
join {p}.workflow_versions v on v.workflow_id = w.id and v.version = w.version
where w.enabled and position(:name::text in v.doc::text) > 0
order by w.id
