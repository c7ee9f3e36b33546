"""The watch over the loop: what holds it for long is counted and named, and nothing usual does."""
import json
import re

import pytest

from groundwork.client import Client
from groundwork.project import Project
from groundwork.records import execute
from groundwork.runs import until


def long_runs(daemon):
    """How often which task held the loop of one of its workers."""
    found = re.findall(r'^groundwork_long_runs_total\{task="([^"]*)"\} (\d+)$', daemon.metrics(), re.M)
    return {task: int(count) for task, count in found}


@pytest.fixture
def brief(gateway):
    """Fails a test during which the gateway ran for 5 ms (50 with sanitizers) without a wait."""
    before = long_runs(gateway)
    yield
    after = long_runs(gateway)
    new = {task: count - before.get(task, 0) for task, count in after.items() if count > before.get(task, 0)}
    assert not new, [line for line in gateway.log().splitlines() if "loop.long_run" in line][-len(new):]


def test_every_daemon_tells_of_long_runs(gateway, webhook, runner):
    for daemon in (gateway, webhook, runner):
        assert "# TYPE groundwork_long_runs_total counter" in daemon.metrics()


def test_large_bodies_are_parsed_beside_the_loop(project, brief):
    """A megabyte of small values takes jansson long."""
    nested = json.dumps({"email": "a@example.org", "junk": [[] for _ in range(240000)]})
    for _ in range(3):
        answer = project.admin.request("PUT", "/users/me", data=nested, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400


def test_a_large_record_holds_nobody_up(project, brief):
    project.entity("pages", [{"name": "text", "type": "text"}])
    for _ in range(3):
        item = project.item("pages", text="x" * 900000)
        project.admin.get(f"/entities/pages/items/{item['id']}", expect=200)


def test_a_record_of_many_values_holds_nobody_up(project, brief):
    """Megabytes in one record, told in every answer, with a tag over all of it."""
    project.entity("books", [{"name": f"part{number}", "type": "text"} for number in range(7)])
    item = project.item("books", part0="x")
    path = f"/entities/books/items/{item['id']}"
    for number in range(7):
        project.admin.put(path, {f"part{number}": 'abcd"' * 130000}, expect=200)
    for _ in range(3):
        answer = project.admin.get(path, expect=200)
        project.admin.put(path, {"part0": "x"}, expect=200)
    assert len(answer.content) > 4000000
    project.admin.get("/entities/books/items?limit=5", expect=200)
    assert project.admin.get(path, headers={"If-None-Match": project.admin.get(path).headers["ETag"]}).status_code == 304


def test_bulk_writes_and_large_lists_hold_nobody_up(project, brief):
    project.entity("things", [{"name": f"f{number}", "type": "varchar"} for number in range(10)])
    items = [{f"f{k}": f"value {n} {k}" for k in range(10)} for n in range(500)]
    project.admin.post("/entities/things/items/bulk", {"items": items}, expect=201)
    assert len(project.admin.get("/entities/things/items?limit=500", expect=200).json()["items"]) == 500


def test_a_large_model_is_read_in_slices(start_gateway, servers):
    """Thousands of fields, read anew after every change of the model."""
    daemon = start_gateway(WORKERS=1)
    project = Project(daemon, Client(f"{daemon.url}/org", token=servers.operator_token), None)
    db = servers.connect()
    schema = project.schema(db)
    project.entity("first")
    for number in range(40):
        made = project.entity(f"wide{number}", [{"name": "one", "type": "varchar"}])
        execute(db, f"insert into {schema}.fields (entity_id, name, type, options)"
                    f" select %s, 'field' || n, 'varchar', '{{}}' from generate_series(1, 190) n", made["id"])
    execute(db, f"update {schema}.meta set model_version = model_version + 1")
    execute(db, "update platform.projects set epoch = epoch + 1 where slug = %s", project.id)
    before = long_runs(daemon)
    until(lambda: len(project.admin.get("/entities/wide39", expect=200).json()["fields"]) > 190, "the model is read", 20)
    for _ in range(3):
        project.admin.put("/entities/first", {"label": "Another"}, expect=200)
        project.admin.get("/entities/first/items", expect=200)
    db.close()
    assert long_runs(daemon) == before
