-- Claims, sends and ends mails. All times are this server's.

-- Content of more than :bytes is not returned: the runner reads it when its memory budget allows.
-- part: claimed
m.id:bigint, m.token:bigint, m.type:text, m.recipient:text, m.user_id:bigint?, {bytes} as size:bigint!,
  case when octet_length(m.content::text) <= :bytes::bigint then m.content end as content:jsonb?, m.tries:smallint,
  m.give_up_at <= now() as late:boolean,
  exists (select 1 from {p}.mail_domains d where d.status = 'verified') as own_domain:boolean, m.created_at:timestamptz

-- An upper bound of a mail's size: its own content, or its templates together with the values that are inserted into them.
-- part: bytes
case when m.type in ('workflow', 'test') and m.content ->> 'template_type' is null then octet_length(m.content::text)
  else 100::bigint * octet_length(m.content::text) + coalesce((select sum(octet_length(s.doc::text)) from {p}.settings s
    where s.kind = 'email_template' and s.key in (m.type, m.content ->> 'template_type', 'shell')), 0) end

-- name: mails_claim :many row(claimed_mail)
with due as (
  select q.id from {p}.mails q where q.due_at <= now() and not q.leased
  order by q.due_at limit :most::bigint for update skip locked)
update {p}.mails m set token = m.token + 1, attempt = m.attempt + 1, leased = true, status = 'sending',
  due_at = now() + :lease_ms::bigint * interval '1 millisecond'
from due d where m.id = d.id
returning {claimed};

-- name: mails_claim_late :many row(claimed_mail)
with due as (
  select q.id from {p}.mails q where q.due_at is not null and q.give_up_at <= now() and not q.leased
  order by q.id limit :most::bigint for update skip locked)
update {p}.mails m set token = m.token + 1, attempt = m.attempt + 1, leased = true, status = 'sending',
  due_at = now() + :lease_ms::bigint * interval '1 millisecond'
from due d where m.id = d.id
returning {claimed};

-- name: mail_content :opt
select m.content:jsonb! from {p}.mails m
where m.id = :id::bigint and m.token = :token::bigint and m.leased and m.content is not null;

-- name: mails_renew :many
with held as (
  select o.id from unnest(:ids::bigint[], :tokens::bigint[]) as e (id, token)
  join {p}.mails o on o.id = e.id and o.token = e.token
  where o.due_at is not null for no key update of o skip locked)
update {p}.mails m set due_at = now() + :lease_ms::bigint * interval '1 millisecond'
from held h where m.id = h.id returning m.id:bigint;

-- name: mails_held :many
select m.id:bigint from unnest(:ids::bigint[], :tokens::bigint[]) as e (id, token)
join {p}.mails m on m.id = e.id and m.token = e.token where m.due_at is not null;

-- A mail that the server may already have is not released.
-- name: mails_release :exec
update {p}.mails m set token = m.token + 1, attempt = m.attempt - 1, leased = false, status = 'queued', due_at = now()
from unnest(:ids::bigint[], :tokens::bigint[]) as g (id, token)
where m.id = g.id and m.token = g.token and m.due_at is not null and not m.handed_over;

-- Takes mails from processes that died. A mail that the server may have accepted ends as `unknown` and is never sent again.
-- name: mails_rescue :many
with dead as (
  select q.id, q.handed_over, q.handed_over or q.attempt >= :attempts::smallint as ends from {p}.mails q
  where q.due_at <= now() and q.leased order by q.due_at limit 100 for update skip locked)
update {p}.mails m set token = m.token + 1, leased = false,
  status = case when d.handed_over then 'unknown' when d.ends then 'failed' else 'queued' end,
  code = case when d.handed_over then 'mail_unknown' when d.ends then 'quarantined' else m.code end,
  due_at = case when d.ends then null else now() end, ended_at = case when d.ends then now() end,
  content = case when d.ends then null else m.content end
from dead d where m.id = d.id
returning m.id:bigint, m.attempt:smallint, d.ends as quarantined:boolean;

-- name: mail_projects :many
select p.number:bigint, p.server:text from platform.projects p join platform.mail_projects f on f.number = p.number
where p.state = 'active' order by p.number;

-- name: mails_poll :one
select coalesce(bool_or(not q.leased), false) as due:boolean, coalesce(bool_or(q.leased), false) as expired:boolean
from (select m.leased from {p}.mails m where m.due_at <= now() limit 1000) q;

-- name: mails_poll_late :one
select exists (select 1 from {p}.mails m where m.due_at is not null and m.give_up_at <= now() and not m.leased) as due:boolean,
  exists (select 1 from {p}.mails m where m.due_at <= now() and m.leased) as expired:boolean;

-- name: retain_mails :exec
delete from {p}.mails m where m.id in (
  select o.id from {p}.mails o where o.ended_at < now() - make_interval(days => :days::integer)
  order by o.id limit :most::bigint);

-- name: retain_mail_links :exec
delete from {p}.mail_links l where l.hash in (
  select o.hash from {p}.mail_links o where o.expires_at < now() - make_interval(days => :days::integer)
  limit :most::bigint);

-- name: mails_old :one
select exists (select 1 from {p}.mails o where o.ended_at < now() - make_interval(days => :days::integer))
  or exists (select 1 from {p}.mail_links o where o.expires_at < now() - make_interval(days => :days::integer))
  as found:boolean;

-- Finds the account that a mail is for: the given account, or the one that has the address.
-- name: mail_account :opt
select u.id:bigint, u.email:text, u.status:text from {p}.users u
where case when :user_id::bigint? is null then
  u.email = any(array(select lower(normalize(f.form)) from unnest(:emails::text[]) as f (form)))
  else u.id = :user_id::bigint end
order by u.email = lower(normalize((:emails::text[])[1])) desc
limit 1;

-- name: mail_link_put :exec
insert into {p}.mail_links as l (hash, mail_id, type, user_id, email, expires_at)
values (:hash::bytea, :mail_id::bigint, :type::text, :user_id::bigint, :email::text,
  now() + :ms::bigint * interval '1 millisecond')
on conflict (mail_id) do update set hash = excluded.hash, expires_at = excluded.expires_at;

-- Marks a mail as handed over: from now on the server may have it.
-- name: mail_handed :opt
update {p}.mails m set handed_over = true, message_id = :message_id::text, sender = :sender::text
where m.id = :id::bigint and m.token = :token::bigint and m.leased returning m.id:bigint;

-- name: mail_end :opt
update {p}.mails m set status = :status::text, code = :code::text?, detail = :detail::text?, due_at = null, leased = false,
  ended_at = now(), content = null, tries = m.tries + 1
where m.id = :id::bigint and m.token = :token::bigint and m.leased returning m.id:bigint;

-- Queues a mail again that was not delivered.
-- name: mail_again :opt
update {p}.mails m set status = 'queued', code = :code::text?, detail = :detail::text?, leased = false, handed_over = false,
  attempt = m.attempt - 1, tries = m.tries + 1, due_at = now() + :pause_ms::bigint * interval '1 millisecond'
where m.id = :id::bigint and m.token = :token::bigint and m.leased returning m.id:bigint;

-- A mail's sender with a verified domain: the given one, else the default, else the address in the settings.
-- name: mail_sender :opt
with wanted as (
  select s.email, s.name, s.domain_id, case when s.id = :id::bigint then 0 else 1 end as place
  from {p}.mail_senders s where s.id = :id::bigint or s.is_default
  union all
  select lower(:email::text?), null, o.id, 2 from {p}.mail_domains o where o.domain = lower(:domain::text?))
select w.email:text!, w.name:text?, d.domain:text, d.selector:text, k.sealed:bytea!
from wanted w
join {p}.mail_domains d on d.id = w.domain_id and d.status = 'verified'
join {p}.settings k on k.kind = 'dkim' and k.key = d.domain and k.sealed is not null
order by w.place limit 1
