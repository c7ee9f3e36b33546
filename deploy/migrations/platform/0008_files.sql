-- Projects that have, or once had, bytes in the store: where gateways look for what uploads and deletions have left. No foreign
-- key: when the project is gone its bytes are still to be removed.
create table platform.file_projects (
  number bigint primary key,
  due_at timestamptz not null default now()
);
create index file_projects_due on platform.file_projects (due_at);
