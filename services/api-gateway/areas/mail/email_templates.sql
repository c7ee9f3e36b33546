-- The project's own mail templates, each a row of settings.

-- name: email_template_put :exec
insert into {p}.settings as s (kind, key, doc) values ('email_template', :key::text, :doc::jsonb)
on conflict (kind, key) do update set doc = excluded.doc, updated_at = greatest(now(), s.updated_at)

-- name: email_template_reset :exec
delete from {p}.settings s where s.kind = 'email_template' and s.key = :key::text

-- name: email_template_lock :exec
select pg_advisory_xact_lock(hashtextextended('{p}.email_template.' || :key::text, 0))
