-- Links in mails: what their tokens change.

-- name: mail_link_take :opt
delete from {p}.mail_links l where l.hash = :hash::bytea and l.type = :type::text
returning l.user_id:bigint, l.email:text, l.expires_at > now() as live:boolean

-- name: mail_account_lock :opt
select u.id:bigint, u.email:text, u.status:text, u.password_hash:text?, u.email_confirmed_at is not null as confirmed:boolean
from {p}.users u where u.id = :id::bigint for update

-- Confirms the address, because a reader of its mail owns the account.
-- name: mail_account_open :exec
update {p}.users u
set password_hash = coalesce(:password_hash::text?, case when not :forgets::boolean then u.password_hash end),
  email_confirmed_at = coalesce(u.email_confirmed_at, now()),
  status = case when u.status in ('invited', 'unconfirmed') then 'active' else u.status end,
  updated_at = greatest(now(), u.updated_at)
where u.id = :id::bigint

-- name: mail_links_forget :exec
delete from {p}.mail_links l where l.user_id = :user_id::bigint

-- name: mail_sessions_end :exec
update {p}.sessions s set revoked_at = now() where s.user_id = :user_id::bigint and s.revoked_at is null

-- name: mail_keys_drop :exec
delete from {p}.api_keys k where k.user_id = :user_id::bigint

-- name: mail_links_forget_type :exec
delete from {p}.mail_links l where l.user_id = :user_id::bigint and l.type = :type::text

-- name: mails_forget_type :exec
update {p}.mails m set status = 'dropped', code = 'replaced', due_at = null, ended_at = now(), content = null
where m.user_id = :user_id::bigint and m.type = :type::text and m.status = 'queued' and not m.leased

-- name: email_change_put :exec
insert into {p}.email_changes as c (user_id, old_email, new_email)
values (:user_id::bigint, :old_email::text, :new_email::text)
on conflict (user_id) do update set old_email = excluded.old_email, new_email = excluded.new_email, old_confirmed_at = null,
  new_confirmed_at = null, created_at = now()

-- name: email_change_confirm :opt
update {p}.email_changes c
set old_confirmed_at = case when c.old_email = :email::text then now() else c.old_confirmed_at end,
  new_confirmed_at = case when c.new_email = :email::text then now() else c.new_confirmed_at end
where c.user_id = :user_id::bigint and :email::text in (c.old_email, c.new_email)
  and c.created_at > now() - interval '25 hours'
returning c.old_email:text, c.new_email:text, c.old_confirmed_at is not null and c.new_confirmed_at is not null as both:boolean

-- name: email_change_done :exec
delete from {p}.email_changes c where c.user_id = :user_id::bigint

-- Returns no row when another account has a spelling of the address, or this account no longer has the old address.
-- name: email_change_apply :opt
update {p}.users u set email = :new_email::text, email_confirmed_at = now(), updated_at = greatest(now(), u.updated_at)
where u.id = :id::bigint and u.email = :old_email::text
  and not exists (select from {p}.users o where o.id <> u.id and o.email = any(:emails::text[]))
returning u.id:bigint
