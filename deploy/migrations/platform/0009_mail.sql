-- Where runners look for mail without a notification: projects that have, or once had, some.
create table platform.mail_projects (
  number bigint primary key references platform.projects (number) on delete cascade
);
