"""Statements of a broadcast read what they write and no more, also when their plan was made while the table was empty."""
import pathlib
import re

from groundwork.servers import ROOT

ROWS = 50000
SQL = pathlib.Path(ROOT / "services/push-dispatcher/dispatch_send.sql").read_text() + "\n"
HUNDRED = ",".join(map(str, range(7001, 7101)))
# Parameters with their types and values; rows that are touched.
STATEMENTS = {
    "deliveries_page": ("id bigint, provider smallint, after bigint, count bigint, bytes bigint",
                        "{send}, 1::smallint, 40000, 500, 262144", 500),
    "deliveries_record": (
        "id bigint, token bigint, provider smallint, targets bigint[], statuses text[], codes text[], tries bigint[], dead bigint[], "
        "read_at timestamptz",
        "{send}, 1, 1::smallint, '{{" + HUNDRED + "}}', array_fill('delivered'::text, array[100]), array_fill(null::text, array[100]), "
        "array_fill(1::bigint, array[100]), '{{}}', now()", 100),
    "deliveries_fail": ("id bigint, token bigint, provider smallint, after bigint, count bigint, code text",
                        "{send}, 1, 1::smallint, 40000, 500, 'X'", 500),
}


def prepare(cursor, schema, name, types):
    text = re.search(rf"-- name: {name} [^\n]*\n(.*?);\n", SQL, re.S)[1].replace("{p}", schema)
    names = [each.split()[0] for each in types.split(", ")]
    text = re.sub(r"(?<!:):(\w+)(?=::)", lambda found: f"${names.index(found[1]) + 1}", text)
    text = re.sub(r"(\w):(bigint|boolean|text|timestamptz)[?!]?(?=[,\s]|$)", r"\1", text)
    cursor.execute(f"prepare {name} ({', '.join(each.split()[1] for each in types.split(', '))}) as {text}")


def test_plans_of_an_empty_table(pushing):
    cursor, schema = pushing.db.cursor(), pushing.schema
    send = pushing.one("insert into {p}.push_sends (source, request, token, due_at) "
                       "values ('Test', '{{}}', 1, now() + interval '1 hour') returning id")
    try:
        cursor.execute("set plan_cache_mode = force_generic_plan; set statement_timeout = 20000")
        for name, (types, values, _) in STATEMENTS.items():
            prepare(cursor, schema, name, types)
            cursor.execute(f"execute {name} ({values.format(send=send)})")
        cursor.execute(f"insert into {schema}.push_deliveries (send_id, provider, target_id) select {send}, 1, n from generate_series(1, {ROWS}) n")
        for name, (_, values, touched) in STATEMENTS.items():
            cursor.execute(f"explain (analyze, buffers) execute {name} ({values.format(send=send)})")
            plan = "\n".join(line for line, in cursor.fetchall())
            read = int(re.search(r"Buffers: shared hit=(\d+)", plan)[1])
            assert read < 20 * touched, plan
    finally:
        cursor.execute("deallocate all; reset plan_cache_mode; reset statement_timeout")
