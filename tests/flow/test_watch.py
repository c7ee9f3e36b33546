"""The watch over the loop: what holds it for long is counted and named, and nothing usual does."""
import json
import re

import pytest


def long_runs(daemon):
    """How often which task held the loop of one of its workers."""
    found = re.findall(r'^groundwork_long_runs_total\{task="([^"]*)"\} (\d+)$', daemon.metrics(), re.M)
    return {task: int(count) for task, count in found}


@pytest.fixture
def brief(gateway):
    """Fails a test during which a task of the gateway ran for 5 ms (50 with sanitizers) without a wait."""
    before = long_runs(gateway)
    yield
    after = long_runs(gateway)
    new = {task: count - before.get(task, 0) for task, count in after.items() if count > before.get(task, 0)}
    new.pop("callbacks", None)  # of many clients together
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


def test_bulk_writes_and_large_lists_hold_nobody_up(project, brief):
    project.entity("things", [{"name": f"f{number}", "type": "varchar"} for number in range(10)])
    items = [{f"f{k}": f"value {n} {k}" for k in range(10)} for n in range(500)]
    project.admin.post("/entities/things/items/bulk", {"items": items}, expect=201)
    assert len(project.admin.get("/entities/things/items?limit=500", expect=200).json()["items"]) == 500
