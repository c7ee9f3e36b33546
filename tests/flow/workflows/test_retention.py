"""A runner removes old history soon after it has started: jobs with their steps, and events that were consumed."""
from groundwork.deadline import until
from groundwork.records import execute, rows
from groundwork.runs import condition
from groundwork.workflows import workflow

RUNNER = {"JOB_RETENTION_DAYS": 30}


def test_what_is_old_enough_goes(project, db, start_test_runner):
    made = workflow(project.admin, steps=[condition()])
    schema = project.schema(db)
    insert = (f"insert into {schema}.jobs (workflow_id, version, trigger_kind, status, finished_at) select {made['id']}, 1, 'manual', %s,"
              " now() - make_interval(days => %s) from generate_series(1, %s)")
    for state, days, number in (("succeeded", 31, 700), ("failed", 40, 700), ("succeeded", 29, 3), ("cancelled", 1, 2)):
        execute(db, insert, state, days, number)
    # A job that is older than all others, but has not ended.
    execute(db, f"insert into {schema}.jobs (id, workflow_id, version, trigger_kind, queued_at) overriding system value"
                f" values (0, {made['id']}, 1, 'manual', now() - interval '90 days')")
    execute(db, f"insert into {schema}.job_leases (job_id, state, lease_until) values (0, 'running', now() + interval '1 hour')")
    execute(db, f"insert into {schema}.job_steps (job_id, seq, run, key, action, status, started_at)"
                f" select j.id, n, 1, 'check', 'Condition', 'succeeded', now() from {schema}.jobs_now j, generate_series(1, 3) n")
    events = f"insert into {schema}.outbox (event, payload, pending, consumed_at) select 'X', '{{}}', %s, %s from generate_series(1, %s)"
    execute(db, events, 0, "2026-01-01T00:00:00Z", 6000)
    execute(db, events, 0, "2999-01-01T00:00:00Z", 2)
    execute(db, events, 2, None, 1)

    def left():
        jobs = rows(db, f"select status, count(*) from {schema}.jobs_now group by 1 order by 1")
        steps = rows(db, f"select count(*), count(distinct job_id) from {schema}.job_steps")[0]
        return jobs, steps, rows(db, f"select count(*) from {schema}.outbox")[0][0]

    wanted = ([("cancelled", 2), ("running", 1), ("succeeded", 3)], (18, 6), 3)
    start_test_runner()
    until(lambda: left() == wanted, "only new rows are left")
