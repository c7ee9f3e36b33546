-- Credentials of providers: settings of kind 'push'. No statement here returns `sealed`.

-- part: shown
p.provider, s.key is not null as is_configured, s.key is not null as is_active, s.doc ->> 'project_id' as project_id,
  s.doc ->> 'client_email' as client_email, s.doc ->> 'subject' as subject, s.doc ->> 'public_key' as public_key,
  case when e.id is not null then jsonb_build_object('kind', 'entity_field', 'entity', e.name, 'token_field', t.name,
    'owner_user_field', o.name) end as device_source,
  s.updated_at

-- part: tables
from (values ('fcm'), ('web_push')) as p (provider)
left join {p}.settings s on s.kind = 'push' and s.key = p.provider and s.sealed is not null
left join {p}.entities e on e.id = (s.doc #>> '{source,entity_id}')::bigint
left join {p}.fields t on t.id = (s.doc #>> '{source,token_field_id}')::bigint
left join {p}.fields o on o.id = (s.doc #>> '{source,owner_field_id}')::bigint

-- name: push_credentials_list :page sort(provider)
select {shown} {tables}

-- name: push_credential_get :one
select {shown} {tables} where p.provider = :provider::text

-- A new service account leaves the device source as it is.
-- name: push_fcm_put :exec
insert into {p}.settings as s (kind, key, doc, sealed) values ('push', 'fcm', :doc::jsonb, :sealed::bytea)
on conflict (kind, key) do update
set doc = s.doc || excluded.doc, sealed = excluded.sealed, updated_at = greatest(clock_timestamp(), s.updated_at)

-- :public_key and :sealed are used only when there is no key pair yet; a later change replaces the subject alone.
-- name: push_web_push_put :exec
insert into {p}.settings as s (kind, key, doc, sealed)
values ('push', 'web_push', jsonb_build_object('subject', :subject::text, 'public_key', :public_key::text), :sealed::bytea)
on conflict (kind, key) do update
set doc = s.doc || jsonb_build_object('subject', :subject::text), updated_at = greatest(clock_timestamp(), s.updated_at)

-- name: push_web_push_rotate :opt
update {p}.settings s
set doc = s.doc || jsonb_build_object('public_key', :public_key::text), sealed = :sealed::bytea,
  updated_at = greatest(clock_timestamp(), s.updated_at)
where s.kind = 'push' and s.key = 'web_push'
returning s.key

-- name: push_source_put :opt
update {p}.settings s
set doc = (s.doc - 'source') || case when :source::jsonb? is null then '{}' else jsonb_build_object('source', :source::jsonb?) end,
  updated_at = greatest(clock_timestamp(), s.updated_at)
where s.kind = 'push' and s.key = 'fcm'
returning s.key

-- name: push_credential_remove :opt
delete from {p}.settings s where s.kind = 'push' and s.key = :provider::text returning s.key

-- name: push_public_key :opt
select s.doc ->> 'public_key' as public_key from {p}.settings s where s.kind = 'push' and s.key = 'web_push'

-- name: push_project_known :opt
select p.number from platform.push_projects p where p.number = :number::bigint

-- name: push_project_register :exec
insert into platform.push_projects (number) values (:number::bigint) on conflict (number) do nothing
