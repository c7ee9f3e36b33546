"""The watch over the event loop: work that holds the loop for long is counted and named, and ordinary requests never hold it
for long."""
import contextlib
import json
import socket
import urllib.parse

import pytest

from groundwork.client import Client
from groundwork.daemon import Daemon
from groundwork.deadline import until
from groundwork.project import Project
from groundwork.records import execute, rows, table
from groundwork.runs import wait_ended, step
from groundwork.workflows import create, event, start, workflow


pytestmark = pytest.mark.timed


@contextlib.contextmanager
def assert_no_long_run(*daemons):
    """Asserts that during the block no daemon's loop runs for 5 ms of CPU (50 with sanitizers) without a wait."""
    before = [len(daemon.long_runs()) for daemon in daemons]
    yield
    for daemon, known in zip(daemons, before):
        new = daemon.long_runs()[known:]
        assert not new, new


@pytest.fixture
def brief_gateway(gateway):
    """Fails a test during which the gateway's loop ran for long."""
    with assert_no_long_run(gateway):
        yield


@pytest.fixture
def brief_jobs(gateway, runner):
    """Fails a test during which the gateway's or the runner's loop ran for long."""
    with assert_no_long_run(gateway, runner):
        yield


def test_every_daemon_logs_long_runs(gateway, webhook, runner):
    for daemon in (gateway, webhook, runner):
        assert "# TYPE groundwork_long_runs_total counter" in daemon.metrics()


@pytest.mark.parametrize("folder, us, alarms", [
    ("release", 49_999, 0), ("release", 50_000, 1), ("asan", 499_999, 0), ("asan", 1_234_567, 1),
])
def test_a_very_long_run_fails_the_test_that_caused_it(tmp_path, folder, us, alarms):
    daemon = Daemon(f"build/{folder}/bin/api-gateway", tmp_path / "log")
    daemon.log_path.write_text(f'{{"level":"info","event":"access","us":9000000}}\n{{"event":"loop.long_run","task":"x","us":{us}}}\n')
    assert len(daemon.alarms()) == alarms and not daemon.alarms()


def costly_document(count=700):
    """All paths refer to one path item; each of its operation's parameters is compared with those of the path item."""
    shared, own = ([{"in": "cookie", "name": f"{letter}{n}"} for n in range(count)] for letter in "ab")
    return {"openapi": "3.0.3", "info": {"title": "x", "version": "1"}, "servers": [{"url": "https://api.example.org"}],
            "paths": {f"/{n}": {"$ref": "#/x"} for n in range(200)}, "x": {"parameters": shared, "get": {"parameters": own}}}


def test_imports_run_beside_the_loop(project, brief_gateway):
    """Also when a client hangs up before its answer."""
    body = json.dumps({"document": costly_document()}).encode()
    where = urllib.parse.urlsplit(project.base_url)
    head = (f"POST {where.path}/integrations/import HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {project.admin.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
    for _ in range(4):
        with socket.create_connection((where.hostname, where.port)) as client:
            client.sendall(head.encode() + body)
        project.admin.post("/integrations/import", {"document": costly_document()}, expect=400)


def test_operations_of_many_expressions_are_filled_beside_the_loop(project, brief_gateway):
    many = {"name": "op", "method": "POST", "path": "/", "params": [{"name": "a", "in": "body"}, {"name": "big", "in": "body", "type": "any"}],
            "body": {"list": ["{{ a }}" * 100] * 19, "big": "{{ big }}"}}
    made = project.admin.post("/integrations", {"name": "many", "base_url": "https://127.0.0.1:1", "operations": [many]}, expect=201).json()
    big = [{"n": n, "text": "x" * 50} for n in range(3000)]
    for _ in range(4):
        project.admin.post(f"/integrations/{made['id']}/operations/op/run", {"params": {"a": "v", "big": big}}, expect=502)  # no server listens there


def test_large_bodies_are_parsed_beside_the_loop(project, brief_gateway):
    """jansson takes long to parse a megabyte of small values."""
    nested = json.dumps({"email": "a@example.org", "junk": ["a value of some length" for _ in range(38000)]})
    for _ in range(3):
        answer = project.admin.request("PUT", "/users/me", data=nested, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400


def test_a_large_record_holds_nobody_up(project, brief_gateway):
    project.entity("pages", [{"name": "text", "type": "text"}])
    for _ in range(3):
        item = project.item("pages", text="x" * 900000)
        project.admin.get(f"/entities/pages/items/{item['id']}", expect=200)


def test_a_record_of_many_values_holds_nobody_up(project, brief_gateway):
    """A record of several megabytes, returned by every request, with an ETag over the whole record."""
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


def test_bulk_writes_and_large_lists_hold_nobody_up(project, brief_gateway):
    project.entity("things", [{"name": f"f{number}", "type": "varchar"} for number in range(10)])
    items = [{f"f{k}": f"value {n} {k}" for k in range(10)} for n in range(500)]
    project.admin.post("/entities/things/items/bulk", {"items": items}, expect=201)
    assert len(project.admin.get("/entities/things/items?limit=500", expect=200).json()["items"]) == 500


def test_a_large_model_is_read_in_slices(start_gateway, servers):
    """Thousands of fields, read again after every change of the model."""
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
    with assert_no_long_run(daemon):
        until(lambda: len(project.admin.get("/entities/wide39", expect=200).json()["fields"]) > 190, "the model is read")
        for _ in range(3):
            project.admin.put("/entities/first", {"label": "Another"}, expect=200)
            project.admin.get("/entities/first/items", expect=200)
    db.close()


def test_jobs_with_large_data_hold_nobody_up(project, brief_jobs):
    """Megabytes pass into a step as its trigger's data and as outputs of earlier steps, into a script, and into the history."""
    bring = [step(f"s{n}", "RunScript", {"script": "return [$svc.trigger.data.text, Array(20000).fill(1.5)]"}, next=f"s{n + 1}") for n in range(3)]
    made = workflow(project.admin, steps=[*bring, step("s3", "RunScript", {"script": "throw 1"})])
    for text in ("x" * 800000, "\x01" * 130000):
        job = wait_ended(project, start(project.admin, made, {"text": text}))
        assert job["error"]["step_key"] == "s3" and len(job["steps"][0]["output"]["data"][0][0]) == len(text), job["error"]
        project.admin.post(f"/workflows/jobs/{job['id']}/retry", {"from_step": "s2"}, expect=202)
        wait_ended(project, job["id"])


def test_large_events_hold_nobody_up(project, db, brief_jobs):
    """Events with the data that a filter needs, and steps that read and write large records."""
    project.entity("pages", [{"name": "text", "type": "text"}, {"name": "n", "type": "integer"}])
    read = step("read", "ReadData", {"entity": "pages", "filter": {"id": {"eq": "{{ $svc.trigger.data.id }}"}}}, next="copy")
    workflow(project.admin, {**event("pages"), "filter": {"field": "n", "op": "gt", "value": 1}},
             [read, create("copy", "pages", {"text": "{{ $svc.trigger.data.text }}", "n": 0})])
    for n in range(4):
        project.item("pages", text="ab\\" * 200000, n=n)
    until(lambda: rows(db, f"select count(*) from {project.schema(db)}.jobs_now where status = 'succeeded'") == [(2,)], "both jobs")


def test_escapes_hold_nobody_up(project, db, brief_gateway):
    """A megabyte of control characters takes six megabytes as JSON, both in an answer and in an event for a workflow."""
    pages = project.entity("pages", [{"name": f"t{n}", "type": "text"} for n in range(2)])
    workflow(project.admin, event("pages", "EntityDeleted"), enabled=False)
    execute(db, f"insert into {table(project, db, pages)} ({', '.join('f_%d' % f['id'] for f in pages['fields'] if f['name'] in ('t0', 't1'))})"
                " select repeat(chr(1), 1000000), 'x' from generate_series(1, 3) n")
    for number in range(1, 4):
        project.admin.get(f"/entities/pages/items/{number}", expect=200)
        project.admin.delete(f"/entities/pages/items/{number}", expect=204)


def test_many_writes_at_once_hold_nobody_up(project, brief_gateway):
    """The largest number of records in one request with the largest body: created, replaced one by one, deleted."""
    project.entity("things", [{"name": "sku", "type": "varchar", "unique": True}, *({"name": f"f{k}", "type": "varchar"} for k in range(8))])
    bulk = "/entities/things/items/bulk"
    items = [{"sku": f"s{n}", **{f"f{k}": f"value {n} {k} " * 6 for k in range(8)}} for n in range(1000)]
    project.admin.post(bulk, {"items": items}, expect=201)
    for atomic in (True, False):
        done = project.admin.post(bulk, {"items": items, "mode": "upsert", "on_conflict": ["sku"], "atomic": atomic}, expect=201).json()
        assert done["updated"] == 1000
    project.admin.post(bulk, {"items": [{"sku": n} for n in range(1000)], "atomic": False})
    ids = [item["id"] for item in project.admin.get("/entities/things/items?limit=500", expect=200).json()["items"]]
    project.admin.post("/entities/things/items/delete-many", {"ids": ids}, expect=200)


def test_imports_hold_nobody_up(project, brief_gateway):
    """Files of several megabytes: many small rows, and a few large rows."""
    project.entity("things", [{"name": "sku", "type": "varchar"}, {"name": "text", "type": "text"}])
    small = "sku,text\n" + "".join(f"s{n},\"a, \"\"b\"\"\"\n" for n in range(100000))
    large = "sku,text\n" + "".join(f"l{n},\"{'x,y' * 250000}\"\n" for n in range(4))
    for content in (small, large):
        project.admin.post("/entities/things/items/import", files={"file": ("x.csv", content, "text/csv")}, expect=202)
    kept = project.admin.get("/entities/things/items/export?format=csv", expect=200)
    assert len(kept.content) > len(small)
