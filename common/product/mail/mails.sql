-- Mail that waits to be sent: a row is written in the transaction that causes the mail.

-- name: mail_project_known :opt
select m.number:bigint from platform.mail_projects m where m.number = :number::bigint

-- name: mail_project_register :exec
insert into platform.mail_projects (number) values (:number::bigint) on conflict (number) do nothing

-- name: mail_add :one
insert into {p}.mails (type, recipient, user_id, content, give_up_at)
values (:type::text, :recipient::text, :user_id::bigint?, :content::jsonb,
  now() + :give_up_ms::bigint * interval '1 millisecond')
returning id as id:bigint

-- The project's own templates, from its settings. A template without a row is the default.
-- name: mail_template_stored :many
select t.key:text, t.doc ->> 'subject' as subject:text?, t.doc ->> 'body_html' as body_html:text?,
  t.doc ->> 'body_text' as body_text:text?, t.doc ->> 'sender_name' as sender_name:text?,
  (t.doc ->> 'sender_address_id')::bigint as sender_id:bigint?, t.updated_at:timestamptz
from {p}.settings t where t.kind = 'email_template' and t.key = any(:keys::text[])
