-- Projects with jobs whose last runner fell silent: they are run one at a time, where nothing else runs.
create table platform.suspects (
  number bigint primary key references platform.projects (number) on delete cascade,
  at     timestamptz not null default now()
);
