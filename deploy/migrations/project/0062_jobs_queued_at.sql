-- Jobs of a period. Only making a job and retrying it write this index: queued_at does not change when a job ends.
create index jobs_queued_at on {p}.jobs (queued_at);
