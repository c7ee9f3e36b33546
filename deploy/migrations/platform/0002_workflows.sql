-- Where runners look when no bell told them: projects that have, or once had, a workflow.
create table platform.workflow_projects (
  number       bigint primary key references platform.projects (number) on delete cascade,
  next_fire_at timestamptz                         -- no timed workflow of it is due before
);
create index workflow_projects_due on platform.workflow_projects (next_fire_at) where next_fire_at is not null;

-- Runners that live, so that they share the sweeping: a row each, refreshed every few seconds.
create table platform.runners (
  id         text primary key,
  started_at timestamptz not null default now(),
  seen_at    timestamptz not null default now()
);
