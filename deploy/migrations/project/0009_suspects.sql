create index jobs_suspect on {p}.jobs (id) where status = 'queued' and attempt > 0;
