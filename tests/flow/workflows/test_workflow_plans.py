"""Statements of queue, ledger and outbox read what they write and no more, also by plans of empty tables."""
from groundwork.plans import BY_INDEX, array, plans_of_empty_tables, texts

ROWS = 50000
RUNNER = "services/workflow-runner/runner_"
OURS = {"ids": array(7001), "tokens": "array_fill(1::bigint, array[100])", "lease_ms": 30000, "holder": "'h'", "most": 100, "bytes": 1000}
STEPS = {"job_ids": array(7001), "seqs": "array_fill(1::bigint, array[100])", "runs": "array_fill(1::bigint, array[100])", "keys": texts("'a'"),
         "actions": texts("'CallAnApi'"), "statuses": texts("'succeeded'"), "started_ms": "array_fill(1::bigint, array[100])",
         "finished_ms": "array_fill(1::bigint, array[100])", "inputs": texts("null"), "outputs": texts("'{}'"), "errors": texts("null"),
         "logs": texts("null")}
ENDS = {**OURS, **STEPS, "job_statuses": texts("'succeeded'"), "job_errors": texts("null"), "reasons": texts("null")}
EVENTS = {"event_ids": array(7001), "workflow_ids": "array_fill({workflow}::bigint, array[100])", "versions": "array_fill(1::bigint, array[100])",
          "depth_max": 8, "chain_max": 1000, "room": 1000, "most": 100, "limit": 100000, "bytes": 100000, "ids": array(7001)}


def fill(cursor, schema):
    """Jobs of which a hundred are under way, what they did, and events that nobody has read."""
    cursor.execute(f"""
      insert into {schema}.jobs (id, workflow_id, version, trigger_kind) select n, 1, 1, 'manual' from generate_series(1, {ROWS}) n;
      select setval('{schema}.jobs_id_seq', {ROWS});
      insert into {schema}.job_leases (job_id, state, token, runner, lease_until)
        select n, case when n between 7001 and 7100 then 'running' else 'queued' end, 1, 'h', now() + interval '1 hour' from generate_series(1, {ROWS}) n;
      insert into {schema}.job_steps (job_id, seq, run, key, action, status, started_at)
        select n, s, 1, 's' || s, 'CallAnApi', 'sent', now() from generate_series(1, {ROWS}) n, generate_series(1, 3) s;
      insert into {schema}.outbox (id, event, entity_id, record_id, payload, depth)
        select n, 'EntityCreated', 1, n, '{{}}', n % 2 from generate_series(1, {ROWS}) n
        on conflict do nothing;
      insert into {schema}.fan_out (root, jobs) select n, 1 from generate_series(1, {ROWS}) n""")


def test_plans_of_empty_tables(project, db):
    cursor, schema = db.cursor(), project.schema(db)
    with plans_of_empty_tables(cursor, schema, ("jobs", "job_leases", "job_steps", "outbox", "fan_out")) as plans:
        for name in ("claim_renew", "claim_held"):
            plans.keep(RUNNER + "claim.sql", name, OURS, prelude=BY_INDEX)
        plans.keep(RUNNER + "claim.sql", "claim_jobs", OURS, prelude=BY_INDEX)
        plans.keep(RUNNER + "sweep.sql", "jobs_release", OURS)
        plans.keep(RUNNER + "ledger.sql", "ledger_jobs", ENDS, prelude=BY_INDEX)
        plans.keep(RUNNER + "ledger.sql", "ledger_steps", ENDS, prelude=BY_INDEX)
        plans.keep(RUNNER + "ledger.sql", "ledger_ended", {**ENDS, "statuses": texts("'succeeded'")})
        values = {**EVENTS, "workflow_ids": "array_fill(1::bigint, array[100])"}
        for name in ("events_claim", "events_make_jobs", "events_make_few", "events_taken"):
            plans.keep(RUNNER + "events.sql", name, values)
        fill(cursor, schema)
        plans.check()
