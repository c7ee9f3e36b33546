-- Where the payments service looks when no bell told it: projects that have, or once had, credentials of a processor
-- or of the app store.
create table platform.payment_projects (
  number bigint primary key references platform.projects (number) on delete cascade
);
