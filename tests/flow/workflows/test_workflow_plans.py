"""Statements of queue, ledger and outbox read only the rows that they write, also with plans that PostgreSQL made while the tables were small."""
import pytest

from groundwork.plans import array, current_plans, texts

ROWS = 50000
RUNNER = "services/workflow-runner/runner_"
OURS = {"ids": array(7001), "tokens": "array_fill(1::bigint, array[100])", "lease_ms": 30000, "holder": "'h'", "most": 100, "bytes": 1000, "attempts": 3,
        "alone": "'{}'"}
STEPS = {"job_ids": array(7001), "seqs": "array_fill(1::bigint, array[100])", "runs": "array_fill(1::bigint, array[100])", "keys": texts("'a'"),
         "actions": texts("'CallAnApi'"), "statuses": texts("'succeeded'"), "started_ms": "array_fill(1::bigint, array[100])",
         "finished_ms": "array_fill(1::bigint, array[100])", "inputs": texts("null"), "outputs": texts("'{}'"), "errors": texts("null"),
         "logs": texts("null")}
DONE = {**OURS, **STEPS, "statuses": texts("'succeeded'"), "job_statuses": texts("'succeeded'"), "job_errors": texts("null"), "reasons": texts("null")}
EVENTS = {"event_ids": array(7001), "workflow_ids": "array_fill(1::bigint, array[100])", "versions": "array_fill(1::bigint, array[100])",
          "depth_max": 8, "chain_max": 1000, "room": 1000, "most": 100, "limit": 100000, "bytes": 100000, "ids": array(7001)}


def fill(cursor, schema, first, last):
    """Inserts the jobs `first` to `last`, with steps and with events that no runner has read. Of the first 7,200 jobs, a hundred are running and a
    hundred belong to a runner that died."""
    cursor.execute(f"""
      insert into {schema}.jobs (id, workflow_id, version, trigger_kind) select n, 1, 1, 'manual' from generate_series({first}, {last}) n;
      select setval('{schema}.jobs_id_seq', {last} + 1);
      insert into {schema}.job_leases (job_id, state, token, runner, lease_until)
        select n, case when n between 7001 and 7200 then 'running' else 'queued' end, 1, 'h',
          case when n <= 7100 then now() + interval '1 hour' when n <= 7200 then now() end from generate_series({first}, {last}) n;
      insert into {schema}.job_steps (job_id, seq, run, key, action, status, started_at)
        select n, s, 1, 's' || s, 'CallAnApi', 'sent', now() from generate_series({first}, {last}) n, generate_series(1, 3) s;
      insert into {schema}.outbox (id, event, entity_id, record_id, payload, depth)
        select n, 'EntityCreated', 1, n, '{{}}', n % 2 from generate_series({first}, {last}) n
        on conflict do nothing;
      insert into {schema}.fan_out (root, jobs) select n, 1 from generate_series({first}, {last}) n""")


@pytest.mark.parametrize("rows", [20, ROWS // 2])
def test_plans_of_small_tables(unused_project, db, rows):
    cursor, schema = db.cursor(), unused_project.schema(db)
    fill(cursor, schema, 1, rows)
    with current_plans(cursor, schema, ("jobs", "job_leases", "job_steps", "outbox", "fan_out")) as plans:
        for name in ("claim_renew", "claim_held", "claim_jobs", "jobs_release"):
            plans.prepare(RUNNER + "claim.sql", name, OURS)
        plans.prepare(RUNNER + "sweep.sql", "sweep_rescue", OURS, touched=ROWS)  # leases have no index on their ends
        plans.prepare(RUNNER + "ledger.sql", "ledger_jobs", DONE, touched=ROWS)
        for name in ("ledger_steps", "ledger_ended"):
            plans.prepare(RUNNER + "ledger.sql", name, DONE)
        for name in ("events_claim", "events_make_jobs", "events_make_guarded", "events_taken"):
            plans.prepare(RUNNER + "events.sql", name, EVENTS, prelude="plan_by_key")
        fill(cursor, schema, rows + 1, ROWS)
        plans.check()
