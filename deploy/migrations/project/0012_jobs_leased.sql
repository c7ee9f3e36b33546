-- A lease that is renewed leaves its job's row where it is: no index holds the time until which it runs. Those that run are few,
-- and whoever looks for the ones that have ended reads them all.
drop index {p}.jobs_leased;
create index jobs_leased on {p}.jobs (id) where status in ('running', 'waiting');
