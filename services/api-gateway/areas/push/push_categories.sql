-- Groups of buttons. The app defines a group's actions; an administrator sets the label and whether the group may be used.

-- part: group
c.category, c.label, c.is_enabled, c.actions,
  (select coalesce(array_agg(a.action ->> 'id' order by a.position), '{}'::text[])
   from jsonb_array_elements(c.actions) with ordinality as a (action, position)) as ios_action_order,
  c.app_version, c.synced_at, c.updated_at

-- name: push_categories_list :page sort(category,label,updated_at)
select {group} from {p}.push_categories c

-- name: push_category_save :one
insert into {p}.push_categories as c (category, label, is_enabled)
values (:category::text, coalesce(:label::text?, :category::text), coalesce(:is_enabled::boolean?, true))
on conflict (category) do update
set label = coalesce(:label::text?, c.label), is_enabled = coalesce(:is_enabled::boolean?, c.is_enabled),
  updated_at = greatest(now(), c.updated_at)
returning {group}

-- Writes the groups in the order of their ids, so that concurrent syncs wait for each other instead of deadlocking.
-- name: push_categories_sync :exec
insert into {p}.push_categories as c (category, label, actions, app_version, synced_at)
select s.category, s.category, s.actions::jsonb, :app_version::text?, now()
from unnest(:categories::text[], :actions::text[]) as s (category, actions)
order by s.category
on conflict (category) do update
set actions = excluded.actions, app_version = excluded.app_version, synced_at = now(),
  updated_at = greatest(now(), c.updated_at)

-- name: push_categories_by_id :many
select {group} from {p}.push_categories c where c.category = any(:categories::text[]) order by c.category

-- name: push_categories_count :one
select count(*) as groups:bigint from {p}.push_categories c where c.category <> all(:categories::text[])
