-- What a mail would look like, for a frame that sends no credentials: each opens once, with a token, for half a minute.
create table {p}.mail_previews (
  token_hash bytea primary key,                    -- SHA-256 of the token
  html       text not null,
  expires_at timestamptz not null
);
create index mail_previews_expires on {p}.mail_previews (expires_at);
