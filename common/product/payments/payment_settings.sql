-- Settings of kind 'payments', and the projects that have them.

-- name: payment_settings_all :many
select s.key as key, s.doc as doc, s.sealed as sealed from {p}.settings s where s.kind = 'payments';

-- name: payment_settings_one :opt
select s.doc as doc, s.sealed as sealed from {p}.settings s where s.kind = 'payments' and s.key = $1::text;

-- name: payment_settings_lock :one
insert into {p}.settings as s (kind, key) values ('payments', $1::text)
on conflict (kind, key) do update set updated_at = s.updated_at
returning s.doc as doc, s.sealed as sealed;

-- name: payment_settings_put :exec
insert into {p}.settings as s (kind, key, doc, sealed) values ('payments', $1::text, $2::jsonb, $3::bytea)
on conflict (kind, key) do update
  set doc = excluded.doc, sealed = case when $4::boolean then s.sealed else excluded.sealed end,
  updated_at = greatest(now(), s.updated_at);

-- name: payment_project_register :exec
insert into platform.payment_projects (number) values ($1::bigint) on conflict (number) do nothing;
