-- Taps of buttons.

-- target_user: the user, if the audience is one user. known: whether the group has this action. reported: whether the tap was
-- reported before.
-- name: push_tap_send :opt
select case when s.request #>> '{audience,kind}' = 'user' then s.request #>> '{audience,user_id}' end as target_user:text?,
  coalesce(c.actions @> jsonb_build_array(jsonb_build_object('id', :action_id::text)), false) as known:boolean,
  exists (select 1 from {p}.push_taps t where t.send_id = s.id and t.action_id = :action_id::text) as reported:boolean
from {p}.push_sends s left join {p}.push_categories c on c.category = :category::text
where s.id = :send_id::bigint

-- name: push_tap_add :exec
insert into {p}.push_taps (send_id, action_id, category, received_at, responded_at, data)
values (:send_id::bigint, :action_id::text, :category::text, :received_at::text?::timestamptz,
  :responded_at::text?::timestamptz, :data::jsonb?)
on conflict (send_id, action_id) do nothing
