-- The addresses that the project sends mail from, each on a domain of the project.

-- part: shown
select s.id, s.email, s.name, s.domain_id, d.domain, d.status = 'verified' as is_usable, s.is_default, s.avatar_file_id,
  s.created_at, s.updated_at
from {p}.mail_senders s join {p}.mail_domains d on d.id = s.domain_id

-- name: senders_list :page sort(id,email,created_at,updated_at)
{shown}

-- name: sender_get :opt
{shown} where s.id = :id::bigint

-- Finds an unverified domain too. The handler refuses such a domain, and says how to verify it.
-- name: sender_domain :opt
select d.id:bigint, d.status:text from {p}.mail_domains d where d.domain = :domain::text for share

-- name: senders_count :one
select count(*) as senders:bigint, coalesce(bool_or(s.is_default), false) as has_default:boolean from {p}.mail_senders s

-- name: sender_add :opt
insert into {p}.mail_senders as s (email, name, domain_id, avatar_file_id)
values (:email::text, :name::text?, :domain_id::bigint, :avatar_file_id::bigint?)
on conflict (email) do nothing
returning s.id as id:bigint

-- name: sender_save :opt
update {p}.mail_senders s
set name = case when :name_set::boolean then :name::text? else s.name end,
  avatar_file_id = case when :avatar_set::boolean then :avatar_file_id::bigint? else s.avatar_file_id end,
  updated_at = greatest(now(), s.updated_at)
where s.id = :id::bigint
returning s.id as id:bigint

-- Runs before sender_default_on, because the index allows only one default at a time.
-- name: senders_default_off :exec
update {p}.mail_senders s set is_default = false, updated_at = greatest(now(), s.updated_at)
where s.is_default and s.id <> :id::bigint

-- name: sender_default_on :opt
update {p}.mail_senders s set is_default = true, updated_at = greatest(now(), s.updated_at)
where s.id = :id::bigint
returning s.id as id:bigint

-- name: sender_remove :opt
delete from {p}.mail_senders s where s.id = :id::bigint returning s.id

-- name: sender_avatar :opt
select f.id:bigint, f.kind:text from {p}.files f where f.id = :id::bigint for share

-- name: sender_state :opt
select d.domain:text, d.status:text from {p}.mail_senders s join {p}.mail_domains d on d.id = s.domain_id where s.id = :id::bigint
