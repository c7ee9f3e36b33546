"""No row has a time of change before its time of creation, whichever transaction began first."""
import re

from groundwork.records import column, execute, rows, table
from groundwork.servers import ROOT
from groundwork.workflows import document, workflow


def delay(db, schema):
    """Moves the times of all rows one hour into the future, as if transactions that began later had written the rows."""
    for name, in rows(db, "select table_name from information_schema.columns where table_schema = %s and column_name in"
                          " ('created_at', 'updated_at') group by 1 having count(*) = 2", schema):
        execute(db, f"update {schema}.{name} set created_at = now() + interval '1 hour', updated_at = now() + interval '1 hour'")


def test_a_change_that_began_before_its_row(project, db):
    admin = project.admin
    things = project.entity("things", [{"name": "code", "type": "varchar", "required": True, "unique": True}, {"name": "n", "type": "integer"}])
    thing = project.item("things", code="a")
    paths = {
        f"/entities/things/items/{thing['id']}": {"n": 1},
        f"/roles/{admin.post('/roles', {'name': 'some'}, expect=201).json()['id']}": {"name": "others"},
        f"/groups/{admin.post('/groups', {'name': 'some'}, expect=201).json()['id']}": {"name": "others"},
        f"/users/{project.user().user['id']}": {"metadata": {"a": 1}},
        f"/workflows/{workflow(admin)['id']}": document(name="another"),
        "/secrets/KEY": {"value": "second"},
        "/entities/things": {"label": "Things of all kinds"},
    }
    admin.post("/secrets", {"name": "KEY", "value": "first"}, expect=201)
    delay(db, project.schema(db))
    answers = {path: admin.put(path, body, expect=200).json() for path, body in paths.items()}
    bulk = admin.post("/entities/things/items/bulk", {"items": [{"code": "a", "n": 2}], "mode": "upsert", "on_conflict": ["code"]})
    early = [path for path, answer in answers.items() if answer["updated_at"] < answer["created_at"]]
    assert not early
    assert bulk.status_code < 300, bulk.text
    assert rows(db, f"select {column(things, 'n')}, updated_at >= created_at from {table(project, db, things)}") == [(2, True)]


def test_no_statement_forgets():
    """Every statement that sets `updated_at` considers that its transaction's clock may show an earlier time than the row."""
    found = [f"{path.relative_to(ROOT)}: {line.strip()}" for folder in ("common", "services") for kind in ("*.sql", "*.c")
             for path in (ROOT / folder).rglob(kind) for line in path.read_text().splitlines()
             if re.search(r"\bupdated_at = (now\(\)|excluded|\$|clock)", line)]
    assert not found
