-- A job costs less to write: one key tells its event or tick apart where two partial indexes did, and no list of states is
-- parsed for every row (the statements that write them name each state).
drop index {p}.jobs_event_key, {p}.jobs_tick_key;
alter table {p}.jobs add column origin bigint;     -- what may start one job a workflow: an event's outbox row, or
                                                   -- a tick's second since 1970, below 0
update {p}.jobs set origin = coalesce(event_id, -extract(epoch from fire_at)::bigint),
  trigger_at = coalesce(trigger_at, fire_at)       -- of a tick, too
where event_id is not null or fire_at is not null;
alter table {p}.jobs drop column event_id, drop column fire_at, drop constraint jobs_status_check;
alter table {p}.job_steps drop constraint job_steps_status_check;
create unique index jobs_origin_key on {p}.jobs (workflow_id, origin) where origin is not null;
