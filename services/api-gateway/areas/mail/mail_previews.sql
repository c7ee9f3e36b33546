-- Previews of mails. The parameter token_hash is the token's SHA-256 in hexadecimal.

-- Deletes the expired previews, and all but the newest :left of the other previews, so that unopened previews do not accumulate.
-- name: mail_previews_forget :exec
delete from {p}.mail_previews p
where p.expires_at < now()
  or p.token_hash in (select o.token_hash from {p}.mail_previews o order by o.expires_at desc offset :left::bigint)

-- name: mail_preview_add :exec
insert into {p}.mail_previews (token_hash, html, expires_at)
values (decode(:token_hash::text, 'hex'), :html::text, now() + :seconds::bigint * interval '1 second')

-- part: live
p.token_hash = decode(:token_hash::text, 'hex') and p.expires_at > now()

-- name: mail_preview_known :opt
select p.expires_at from {p}.mail_previews p where {live}

-- name: mail_preview_take :opt
delete from {p}.mail_previews p where {live}
returning p.html as html:text
