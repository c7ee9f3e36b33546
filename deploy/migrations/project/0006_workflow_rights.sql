-- Whose a job is, and where a secret may go.
alter table {p}.jobs add column actor_key_id bigint;       -- the API key with which it was started
alter table {p}.secrets add column allowed_hosts text[];   -- null = any
