-- The templates and groups of buttons that sends use.

-- name: push_template_find :opt
select t.title:text?, t.body:text?, t.image_url:text?, t.click_action:text?, t.category:text?, t.buttons:jsonb?,
  t.is_active:boolean
from {p}.push_templates t where t.template_type = :template_type::text;

-- Whether the project has any group, and the group of this category.
-- name: push_group_find :one
select exists (select 1 from {p}.push_categories) as any_group:boolean, g.category is not null as known:boolean,
  coalesce(g.is_enabled, false) as is_enabled:boolean,
  coalesce((select array_agg(a.action ->> 'id' order by a.position)
            from jsonb_array_elements(g.actions) with ordinality as a (action, position)), '{}'::text[]) as actions:text[]
from (values (:category::text)) as wanted (category)
left join {p}.push_categories g on g.category = wanted.category;
