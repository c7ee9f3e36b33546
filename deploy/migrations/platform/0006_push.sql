-- Where dispatchers look without a notification, beside projects with workflows: projects that have, or once had, credentials of
-- a push provider, or a send.
create table platform.push_projects (
  number bigint primary key references platform.projects (number) on delete cascade
);
