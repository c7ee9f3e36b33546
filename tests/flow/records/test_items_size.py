"""The largest record: every way to write refuses a larger one, and a record that is larger already does not end a daemon."""
import json

import pytest
from groundwork.chaos import client_at
from groundwork.records import column, execute, listen, outbox, outbox_end, table
from groundwork.runs import wait_ended, step
from groundwork.workflows import start, workflow

LIMIT = 100_000
DEFAULT = 8 << 20
TOO_LONG = {"": "too_long"}
FIELDS = [f"t{n}" for n in range(12)]
ITEMS = "/entities/pages/items"


def pages(project, **settings):
    return project.entity("pages", [{"name": "code", "type": "varchar", "unique": True}] + [
        {"name": name, "type": "text"} for name in FIELDS] + [{"name": "j", "type": "json"}], **settings)


@pytest.fixture(scope="module")
def small(start_gateway):
    return start_gateway(RECORD_BYTES=LIMIT)


@pytest.fixture
def admin(project, small):
    """The project's administrator at a gateway where records must be small."""
    project.pages = pages(project)
    return client_at(small, project)


def found(response):
    assert response.status_code == 400, response.text
    answer = response.json()
    assert answer["code"] == "validation_failed", answer
    return {error["field"]: (error["code"], error["message"]) for error in answer["errors"]}


def refused(response, field="", limit=LIMIT):
    code, message = found(response).get(field, (None, None))
    assert code is not None, response.text
    assert code == "too_long" and str(limit) in message, response.text


def test_a_new_record(admin):
    half = "x" * (LIMIT // 2)
    refused(admin.post(ITEMS, {"t0": half, "t1": half, "t2": "x"}))
    admin.post(ITEMS, {"t0": half, "t1": half}, expect=201)
    refused(admin.post(f"{ITEMS}/bulk", {"items": [{"t0": "x"}, {name: half for name in FIELDS}]}), "items[1]")
    answer = admin.post(f"{ITEMS}/bulk", {"items": [{"t0": "x"}, {name: half for name in FIELDS}], "atomic": False}).json()
    assert (answer["created"], answer["failed"]) == (1, 1)
    assert answer["results"][1]["error"]["errors"][0]["code"] == "too_long"


def test_growing_bit_by_bit(admin):
    record = admin.post(ITEMS, {"code": "a"}, expect=201).json()
    path, third = f"{ITEMS}/{record['id']}", "x" * (LIMIT // 3)
    for name in FIELDS[:2]:
        admin.put(path, {name: third}, expect=200)
    admin.put(path, {"j": {"text": third[:-100]}}, expect=200)
    refused(admin.put(path, {"t3": third}))
    refused(admin.put(path, {"t3": third}, headers={"If-Match": "*"}))
    assert admin.get(path).json()["t3"] is None
    admin.put(path, {"t3": third, "t0": "x"}, expect=200)
    refused(admin.post(f"{ITEMS}/bulk", {"items": [{"code": "a", "t4": third}], "mode": "upsert", "on_conflict": ["code"]}), "items[0]")
    each = admin.post(f"{ITEMS}/bulk", {
        "items": [{"code": "a", "t4": third}, {"code": "b", "t4": third}], "mode": "upsert", "on_conflict": ["code"],
        "atomic": False}, expect=201).json()
    assert (each["failed"], each["created"]) == (1, 1)
    assert each["results"][0]["error"]["errors"][0]["code"] == "too_long"
    same = {"items": [{"code": "a", "t3": "y", "t4": third}], "mode": "upsert", "on_conflict": ["code"]}
    assert admin.post(f"{ITEMS}/bulk", same, expect=201).json()["updated"] == 1


def test_links_count(project, small):
    project.entity("tags", [{"name": "name", "type": "varchar"}])
    many = [{"name": f"m{n}", "type": "relation", "options": {"entity": "tags", "many": True}} for n in range(14)]
    project.entity("pages", many + [{"name": "t", "type": "text"}])
    admin = client_at(small, project)
    made = admin.post("/entities/tags/items/bulk", {"items": [{"name": str(n)} for n in range(1000)]}, expect=201).json()
    tags = [result["id"] for result in made["results"]]
    refused(admin.post(ITEMS, {f"m{n}": tags for n in range(13)}))
    record = admin.post(ITEMS, {f"m{n}": tags for n in range(12)}, expect=201).json()
    path = f"{ITEMS}/{record['id']}"
    refused(admin.put(path, {"m12": tags}))
    refused(admin.put(path, {"t": "x" * 5000}))
    admin.put(path, {"t": "x" * 3000, "m0": tags[::-1]}, expect=200)
    admin.put(path, {"m12": tags, "m0": []}, expect=200)


def test_what_escapes_make_of_it(admin):
    """A control character has six bytes in JSON: a record is refused if its JSON would be too large for answers and events."""
    large, limit = "\x01" * (LIMIT // 4), LIMIT // 4 * 7
    for brought in ({"t0": large, "t1": large}, {"t0": "x", "t1": large, "t2": "\x01" * 10000}):
        code, message = found(admin.post(ITEMS, brought))[""]
        assert code == "too_long" and f"{limit} as JSON" in message
    record = admin.post(ITEMS, {"t0": large, "t1": "\"" * 9000}, expect=201).json()
    path = f"{ITEMS}/{record['id']}"
    admin.put(path, {"t2": "x" * 4000}, expect=200)
    refused(admin.put(path, {"t3": "\x01" * 1000}))
    kept = admin.get(path, expect=200).json()
    assert kept == {**record, "t2": "x" * 4000, "updated_at": kept["updated_at"]}
    admin.put(path, {"t0": "x", "t3": large}, expect=200)
    admin.put(path, {"t1": None, "t4": "y" * 9000}, expect=200)


def test_what_is_written_is_answered(project):
    """A record that can be written can also be returned: no write stores a record that is too large for its answer."""
    names = [f"t{n}" for n in range(16)]
    project.entity("pages", [{"name": name, "type": "text"} for name in names])
    path, large = f"{ITEMS}/{project.item('pages')['id']}", "\x01" * 160_000
    for name in names[:15]:
        assert project.admin.put(path, {name: large}, expect=200).json()[name] == large
    refused(project.admin.put(path, {names[15]: large}), limit=DEFAULT)
    kept = project.admin.get(path, expect=200).json()
    assert all(kept[name] == large for name in names[:15]) and kept[names[15]] is None


def test_an_import(admin):
    half = "x" * (LIMIT // 2 + 1)
    lines = "\n".join(json.dumps(row) for row in ({"t0": "x"}, {"t0": half, "t1": half}, {"t0": "y"}))
    answer = admin.post(f"{ITEMS}/import", None, files={"file": ("rows.jsonl", lines, "application/jsonl")}, expect=202)
    task = admin.get(f"/tasks/{answer.json()['task_id']}", expect=200).json()
    (error,) = task["errors"]
    assert error["row"] == 2 and "at most 100000 bytes" in error["detail"], task
    assert [item["t0"] for item in admin.get(ITEMS, expect=200).json()["items"]] == ["x", "y"]


def test_what_is_usual(project):
    pages(project)
    record = project.item("pages")
    path = f"{ITEMS}/{record['id']}"
    for name in FIELDS[:8]:
        project.admin.put(path, {name: "x" * 1_040_000}, expect=200)
    refused(project.admin.put(path, {"t8": "x" * 100_000}), limit=DEFAULT)


def test_records_that_are_larger_already(project, gateway, db):
    """A record can be larger if an earlier release wrote it: here 12 MB of control characters are 72 MB of JSON."""
    entity = pages(project)
    child = project.entity("notes", [
        {"name": "page", "type": "relation", "options": {"entity": "pages", "on_delete": "set_null"}},
        {"name": "t", "type": "text"}])
    listen(project, db, entity, "EntityUpdated", "EntityDeleted")
    record = project.item("pages", code="old")
    path = f"{ITEMS}/{record['id']}"
    huge = ", ".join(f"{column(entity, name)} = repeat(chr(1), 1000000)" for name in FIELDS)
    workers = set(gateway.workers())
    for text in (huge, huge.replace("chr(1)", "'x'")):
        execute(db, f"update {table(project, db, entity)} set {text} where id = %s", record["id"])
        refused(project.admin.put(path, {"code": "new"}), limit=DEFAULT)
        refused(project.admin.put(path, {"t0": "x"}), limit=DEFAULT)
    project.admin.put(path, {name: None for name in FIELDS}, expect=200)

    execute(db, f"update {table(project, db, entity)} set {huge} where id = %s", record["id"])
    since = outbox_end(project, db)
    project.admin.delete(path, expect=204)
    (event, number, payload, _), = outbox(project, db, since)
    assert (event, number, payload["id"]) == ("EntityDeleted", record["id"], record["id"])
    assert set(payload) == {"id", "created_at", "updated_at", "created_by"}, "a field that does not fit the payload is left out whole"
    assert set(gateway.workers()) == workers, "no worker has ended"
    assert child


def test_steps_of_a_workflow(project, start_test_runner):
    start_test_runner(RECORD_BYTES=LIMIT)
    pages(project)
    third = "x" * (LIMIT // 3 + 1)
    record = project.item("pages", code="a", t0=third, t1=third)
    steps = {
        "UpdateData": {"entity": "pages", "id": record["id"], "values": {"t2": "{{ $svc.trigger.data.text }}"}},
        "CreateData": {"entity": "pages", "values": {name: "{{ $svc.trigger.data.text }}" for name in FIELDS[:4]}},
        "BulkCreateData": {"entity": "pages", "items": [{name: "{{ $svc.trigger.data.text }}" for name in FIELDS[:4]}]},
    }
    for action, params in steps.items():
        made = workflow(project.admin, steps=[step("s", action, params)])
        job = wait_ended(project, start(project.admin, made, {"text": third}))
        assert (job["status"], job["error"]["code"]) == ("failed", "validation_failed"), (action, job)
        assert "at most 100000 bytes" in str(job["steps"][0]), (action, job)
    assert project.admin.get(ITEMS, expect=200).json()["items"] == [record]
