-- Projects that log changes for listeners: where gateways look for what is too old. No foreign key: a project that is gone is
-- found here, and forgotten.
create table platform.live_projects (
  number bigint primary key,
  due_at timestamptz not null default now()
);
create index live_projects_due on platform.live_projects (due_at);
