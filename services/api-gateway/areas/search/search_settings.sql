-- The search settings of a project.

-- name: search_settings_get :opt
select s.doc:jsonb from {p}.settings s where s.kind = 'search' and s.key = 'settings'

-- name: search_settings_lock :opt
select s.doc:jsonb from {p}.settings s where s.kind = 'search' and s.key = 'settings' for no key update

-- name: search_settings_put :exec
insert into {p}.settings as s (kind, key, doc) values ('search', 'settings', :doc::jsonb)
on conflict on constraint settings_kind_key do update set doc = excluded.doc, updated_at = greatest(now(), s.updated_at)
