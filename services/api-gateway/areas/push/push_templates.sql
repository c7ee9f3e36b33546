-- Templates of notifications.

-- part: template
select t.template_type, t.name, t.title, t.body, t.image_url, t.click_action, t.category,
  coalesce(t.buttons, '[]'::jsonb) as buttons, t.is_active, t.created_at, t.updated_at
from {p}.push_templates t

-- name: push_templates_list :page sort(template_type,name,created_at,updated_at)
{template}
where (:active::boolean? is null or t.is_active = :active::boolean)

-- name: push_templates_count :one
select count(*) as templates:bigint from {p}.push_templates

-- name: push_template_get :opt
{template} where t.template_type = :template_type::text

-- name: push_template_lock :opt
select t.name:text, t.title:text?, t.body:text?, t.image_url:text?, t.click_action:text?, t.category:text?,
  t.buttons:jsonb?, t.is_active:boolean
from {p}.push_templates t where t.template_type = :template_type::text for update

-- name: push_template_add :opt args(push_template)
insert into {p}.push_templates
  (template_type, name, title, body, image_url, click_action, category, buttons, is_active)
values (:template_type::text, :name::text, :title::text?, :body::text?, :image_url::text?, :click_action::text?,
  :category::text?, :buttons::jsonb?, :is_active::boolean)
on conflict (template_type) do nothing
returning template_type

-- name: push_template_save :exec args(push_template)
update {p}.push_templates t
set name = :name::text, title = :title::text?, body = :body::text?, image_url = :image_url::text?,
  click_action = :click_action::text?, category = :category::text?, buttons = :buttons::jsonb?,
  is_active = :is_active::boolean, updated_at = greatest(now(), t.updated_at)
where t.template_type = :template_type::text

-- name: push_template_remove :opt
delete from {p}.push_templates t where t.template_type = :template_type::text returning t.template_type
