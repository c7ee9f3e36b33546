-- Whether a runner has ever had more than one job at a time: if not, the job that it fell silent with was alone.
alter table platform.runners add column shared boolean not null default false;
