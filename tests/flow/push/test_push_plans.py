"""Statements about sends and their deliveries read only the rows that they write, also with plans that PostgreSQL made while the tables were small."""
import pytest

from groundwork.plans import array, current_plans, texts

ROWS = 50000
DISPATCH = "services/push-dispatcher/dispatch_"
OURS = {"ids": array(7001), "tokens": "array_fill(1::bigint, array[100])", "lease_ms": 30000, "most": 100, "attempts": 3}
PAGE = {"token": 1, "provider": "1::smallint", "after": 40000, "count": 500, "bytes": 262144, "code": "'X'", "targets": array(7001), "statuses": texts("'delivered'"),
        "codes": texts("null"), "tries": "array_fill(1::bigint, array[100])", "dead": "'{}'", "read_at": "now()"}


def fill(cursor, schema, first, last):
    """Inserts the sends `first` to `last`, and as many deliveries of the last send. Of the first 7,200 sends, a hundred are running and a hundred
    were left by a process that died. All other sends wait."""
    cursor.execute(f"""
      insert into {schema}.push_sends (id, source, request, token, attempt, leased, due_at)
        select n, 'Test', '{{}}', 1, case when n between 7101 and 7200 then 5 else 1 end, n between 7001 and 7200,
          now() + interval '1 minute' * case when n between 7001 and 7100 or n = {ROWS} then 60 when n between 7101 and 7200 then -2 else -1 end
        from generate_series({first}, {last}) n;
      insert into {schema}.push_deliveries (send_id, provider, target_id) select {ROWS}, 1, n from generate_series({first}, {last}) n""")


@pytest.mark.parametrize("rows", [0, 20, ROWS // 2])
def test_plans_of_small_tables(unused_project, db, rows):
    cursor, schema = db.cursor(), unused_project.schema(db)
    fill(cursor, schema, 1, rows)
    with current_plans(cursor, schema, ("push_sends", "push_deliveries")) as plans:
        for name in ("sends_claim", "sends_claim_crashed", "sends_quarantine"):
            plans.prepare(DISPATCH + "claim.sql", name, OURS)
        for name in ("sends_renew", "sends_held", "sends_release"):
            plans.prepare(DISPATCH + "claim.sql", name, OURS, touched=ROWS // 20)  # it may read the wrong index once, but not for each row
        for name in ("deliveries_page", "deliveries_record", "deliveries_fail") if rows else ():
            plans.prepare(DISPATCH + "send.sql", name, {**PAGE, "id": ROWS}, touched=500, prelude="plan_by_key")
        fill(cursor, schema, rows + 1, ROWS)
        plans.check()
