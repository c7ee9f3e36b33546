-- The domains that the project sends mail from.

-- part: shown
d.id, d.domain, d.status, d.records, d.verified_at, d.checked_at, d.created_at, d.updated_at

-- name: domains_list :page sort(id,domain,status,created_at,updated_at)
select {shown} from {p}.mail_domains d

-- name: domain_get :opt
select {shown} from {p}.mail_domains d where d.id = :id::bigint

-- name: domain_read :opt
select d.domain:text, d.token:text, d.selector:text, d.public_key:text, d.status:text, d.records:jsonb
from {p}.mail_domains d where d.id = :id::bigint

-- name: domains_count :one
select count(*) as domains:bigint from {p}.mail_domains

-- name: domain_add :opt
insert into {p}.mail_domains as d (domain, token, selector, public_key, records)
values (:domain::text, :token::text, :selector::text, :public_key::text, :records::jsonb)
on conflict (domain) do nothing
returning d.id as id:bigint

-- name: domain_key_put :exec
insert into {p}.settings as s (kind, key, doc, sealed)
values ('dkim', :domain::text, jsonb_build_object('selector', :selector::text), :sealed::bytea)
on conflict (kind, key) do update set doc = excluded.doc, sealed = excluded.sealed, updated_at = greatest(now(), s.updated_at)

-- name: domain_key_remove :exec
delete from {p}.settings s where s.kind = 'dkim' and s.key = :domain::text

-- name: domain_checked :opt
update {p}.mail_domains d set status = :status::text, records = :records::jsonb, checked_at = now(),
  verified_at = case when :status::text = 'verified' then coalesce(d.verified_at, now()) end,
  updated_at = greatest(now(), d.updated_at)
where d.id = :id::bigint
returning d.id as id:bigint

-- name: domain_lock :opt
select d.domain:text, (select count(*) from {p}.mail_senders s where s.domain_id = d.id) as senders:bigint!
from {p}.mail_domains d where d.id = :id::bigint for update

-- name: domain_remove :exec
delete from {p}.mail_domains d where d.id = :id::bigint
