-- When runners looked at a project's indexes of ordered texts, and at which epoch, and found nothing to do.
create table platform.text_index_looks (
  number    bigint primary key references platform.projects (number) on delete cascade,
  epoch     bigint not null,
  looked_at timestamptz not null default now()
);
