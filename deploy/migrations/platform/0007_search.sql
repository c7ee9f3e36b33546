-- Where indexers look without a notification: projects that have, or once had, an entity that is searched. Others are looked at
-- once a minute.
create table platform.search_projects (
  number bigint primary key references platform.projects (number) on delete cascade
);
