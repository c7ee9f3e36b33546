-- How many records one event may set off.
alter table {p}.fan_out alter column jobs set default 0;
alter table {p}.fan_out add column records bigint not null default 0; -- that steps of jobs of the chain were about to make
