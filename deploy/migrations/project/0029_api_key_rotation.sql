-- Values that API keys had before they were rotated, as long as these still open what the key opens.
create table {p}.api_key_former (
  hash       bytea primary key,                    -- SHA-256 of the value
  api_key_id bigint not null references {p}.api_keys (id) on delete cascade,
  ends_at    timestamptz not null
);
create index api_key_former_key on {p}.api_key_former (api_key_id);

-- What somebody has changed, and what became of a thing, out of a log of any length.
create index audit_log_actor on {p}.audit_log (actor_id, id) where actor_id is not null;
create index audit_log_target on {p}.audit_log (target, target_id, id);
create index audit_log_at on {p}.audit_log (at);
