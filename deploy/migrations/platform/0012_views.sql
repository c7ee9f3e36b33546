-- Where runners look for materialised views to refresh: projects that have, or once had, some.
create table platform.view_projects (
  number bigint primary key references platform.projects (number) on delete cascade
);
