"""Statements about received events read only the rows that they write, also with plans that PostgreSQL made while the tables were small."""
import pytest

from groundwork.plans import array, current_plans

ROWS = 50000
WORK = "services/payments-webhook/webhook_work.sql"
OURS = {"ids": array(7001), "tokens": "array_fill(1::bigint, array[100])", "lease_ms": 30000, "most": 100, "attempts": 3}


def fill(cursor, schema, first, last):
    """Inserts the events `first` to `last`. Of the first 7,200, a hundred are being applied and a hundred were left by a process that died. All other
    events wait."""
    cursor.execute(f"""
      insert into {schema}.webhook_events (id, source, event_id, type, created_at, payload, attempts, next_attempt_at)
        select n, 'processor', 'evt_' || n, 'x', now(), '{{}}', case when n between 7001 and 7100 then 1 when n between 7101 and 7200 then 5 else 0 end,
          now() + interval '1 minute' * case when n between 7001 and 7100 then 60 when n between 7101 and 7200 then -2 else -1 end
        from generate_series({first}, {last}) n""")


@pytest.mark.parametrize("rows", [0, 20, ROWS // 2])
def test_plans_of_small_tables(unused_project, db, rows):
    cursor, schema = db.cursor(), unused_project.schema(db)
    fill(cursor, schema, 1, rows)
    with current_plans(cursor, schema, ("webhook_events",)) as plans:
        for name in ("events_claim", "events_claim_crashed", "events_quarantine"):
            plans.prepare(WORK, name, OURS)
        plans.prepare(WORK, "events_release", OURS, touched=ROWS // 20)  # it may read the wrong index once, but not for each row
        fill(cursor, schema, rows + 1, ROWS)
        plans.check()
