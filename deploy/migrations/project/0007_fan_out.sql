-- What one event may set off, and workflows that are stopped with much in the queue.
alter table {p}.outbox add column root bigint;   -- what began the chain of events: an outbox row, or a job below 0
alter table {p}.jobs add column root bigint;
create table {p}.fan_out (
  root bigint primary key,
  jobs bigint not null,                          -- that events of its jobs have made
  at   timestamptz not null default now()
) with (fillfactor = 50);
-- Workflows whose queued jobs are still to be ended, some at a time.
create table {p}.workflow_stops (
  workflow_id bigint primary key,
  deleted     boolean not null,
  at          timestamptz not null default now()
);
