-- Settings of kind 'payments', and the projects that have them.

-- name: payment_settings_all :many row(payment_setting)
select s.key:text, s.doc:jsonb, s.sealed:bytea? from {p}.settings s where s.kind = 'payments';

-- name: payment_settings_lock :one row(payment_setting)
insert into {p}.settings as s (kind, key) values ('payments', :key::text)
on conflict (kind, key) do update set updated_at = s.updated_at
returning s.key:text, s.doc:jsonb, s.sealed:bytea?;

-- name: payment_settings_put :exec
insert into {p}.settings as s (kind, key, doc, sealed) values ('payments', :key::text, :doc::jsonb, :sealed::bytea)
on conflict (kind, key) do update
  set doc = excluded.doc, sealed = case when :keep_sealed::boolean then s.sealed else excluded.sealed end,
  updated_at = greatest(now(), s.updated_at);

-- name: payment_project_register :exec
insert into platform.payment_projects (number) values (:number::bigint) on conflict (number) do nothing;
