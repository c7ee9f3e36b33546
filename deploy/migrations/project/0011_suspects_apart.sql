-- A job whose runner fell silent runs alone from then on; what it shared that runner with costs it no attempt.
alter table {p}.jobs add column suspect boolean not null default false;
update {p}.jobs set suspect = true where status = 'queued' and attempt > 0;
drop index {p}.jobs_suspect;
create index jobs_suspect on {p}.jobs (id) where status = 'queued' and suspect;
