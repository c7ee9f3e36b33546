"""Types of fields with one value of a fixed size, each through all that a field can do. A new type of this kind is a row of CASES."""
import json

import pytest
from groundwork.deadline import until
from groundwork.records import codes, column, execute, table

LOW, HIGH = "123e4567-e89b-42d3-a456-426614174000", "f23e4567-e89b-42d3-a456-426614174fff"
# written: a value as a client may write it. kept: the value as answers show it. wrong: texts that are refused. order: can be compared.
CASES = {
    "time": {"low": "09:30:00", "high": "23:59:59.5", "written": "23:59:59.500", "kept": "23:59:59.5", "sql": "time without time zone", "typescript": "TimeOfDay",
             "order": True, "schema": {"type": "string", "description": "Time of day, without a date and a time zone; unique", "nullable": True},
             "wrong": ["", "x", "9:30", "24:00", "24:00:00", "09:60", "09:30:60", "09:30:", "09:30:00.", "09:30:00.1234567", "09:30Z",
                       "0930", "09-30", " 09:30", "now", "allballs"]},
    "uuid": {"low": LOW, "high": HIGH, "written": HIGH.upper(), "kept": HIGH, "sql": "uuid", "typescript": "Uuid", "order": False, "schema": {"type": "string", "format": "uuid", "nullable": True},
             "wrong": ["", "x", LOW + "0", LOW[:-1], LOW.replace("-", ""), f"{{{LOW}}}", LOW.replace("1", "g"), f" {LOW}"]},
}
ITEMS = "/entities/things/items"


@pytest.fixture(params=CASES)
def case(request):
    return {"type": request.param, **CASES[request.param]}


@pytest.fixture
def things(shared_project, case):
    """The project, with an entity of two records in the order low, high."""
    shared_project.empty()
    shared_project.things = shared_project.entity("things", [
        {"name": "v", "type": case["type"], "unique": True}, {"name": "n", "type": "integer"},
        {"name": "d", "type": case["type"], "default": case["written"]}], history=True, history_days=3)
    shared_project.low = shared_project.item("things", v=case["low"], n=1)
    shared_project.high = shared_project.item("things", v=case["written"], n=2)
    return shared_project


def numbers(project, query):
    return [item["n"] for item in project.admin.get(f"{ITEMS}?{query}", expect=200).json()["items"]]


def test_values(things, case):
    admin = things.admin
    assert (things.low["v"], things.high["v"], things.low["d"]) == (case["low"], case["kept"], case["kept"])
    for wrong in [*case["wrong"], 5, True, [case["low"]], {}]:
        refused = admin.post(ITEMS, {"v": wrong}, expect=400)
        assert codes(refused) == {"v": "pattern" if isinstance(wrong, str) else "type_mismatch"}, wrong
    assert codes(admin.post(ITEMS, {"v": case["written"]}, expect=409)) == {"v": "unique_violation"}
    assert admin.put(f"{ITEMS}/{things.low['id']}", {"v": None}, expect=200).json()["v"] is None
    again = admin.post(f"{ITEMS}/bulk", {"items": [{"v": case["written"], "n": 7}, {"v": case["low"], "n": 8}],
                                         "mode": "upsert", "on_conflict": ["v"]})
    assert again.status_code < 300, again.text
    assert numbers(things, "sort=n&filter[n][gte]=7") == [7, 8]
    twice = admin.post(f"{ITEMS}/bulk", {"items": [{"v": case["written"]}, {"v": case["kept"]}], "mode": "upsert", "on_conflict": ["v"]})
    assert twice.status_code < 500, twice.text
    before = admin.get(f"{ITEMS}/{things.low['id']}/history", expect=200).json()["items"]
    assert [version["record"]["v"] for version in before] == [None, case["low"]]


def test_lists(things, case):
    written, low = case["written"], case["low"]
    assert numbers(things, f"filter[v]={written}") == [2]
    assert numbers(things, f"filter[v][ne]={written}") == [1]
    assert numbers(things, f"filter[v][in]={low},{written}&sort=v") == [1, 2]
    assert numbers(things, "sort=-v") == [2, 1]
    page = things.admin.get(f"{ITEMS}?sort=v&limit=1&cursor=", expect=200).json()
    rest = things.admin.get(f"{ITEMS}?sort=v&limit=1&cursor={page['next_cursor']}", expect=200).json()
    assert [item["n"] for item in page["items"] + rest["items"]] == [1, 2]
    compared = things.admin.get(f"{ITEMS}?filter[v][gt]={low}")
    assert compared.status_code == (200 if case["order"] else 400)
    for wrong in case["wrong"]:
        assert codes(things.admin.get(f"{ITEMS}?filter[v]={wrong}", expect=400)) == {"filter[v]": "invalid_query"}, wrong
    assert things.admin.get(f"{ITEMS}?filter[v][icontains]=1").status_code == 400
    groups = things.admin.get(f"{ITEMS}/aggregate?group_by=v", expect=200).json()
    assert case["kept"] in json.dumps(groups)
    least = things.admin.get(f"{ITEMS}/aggregate?min=v")
    assert least.status_code == (200 if case["order"] else 400)
    assert not case["order"] or case["low"] in least.text


def test_transfer(things, case):
    admin = things.admin
    for form in "csv", "jsonl":
        content = admin.get(f"{ITEMS}/export?format={form}&fields=v,n,d", expect=200).text
        assert case["kept"] in content
        for number in (1, 2):
            record, = admin.get(f"{ITEMS}?filter[n]={number}", expect=200).json()["items"]
            admin.delete(f"{ITEMS}/{record['id']}", expect=204)
        task = admin.post(f"{ITEMS}/import", files={"file": (f"x.{form}", content, "application/octet-stream")}, expect=202).json()["task_id"]
        until(lambda: admin.get(f"/tasks/{task}").json()["status"] == "succeeded", f"the import of {form} ends")
        assert numbers(things, f"filter[v]={case['written']}") == [2], form


def test_model(things, case, db):
    admin = things.admin
    name = table(things, db, things.things)
    with db.cursor() as cursor:
        cursor.execute("select format_type(atttypid, atttypmod) from pg_attribute where attrelid = %s::regclass and attname = %s",
                       (name, column(things.things, "v")))
        assert cursor.fetchone() == (case["sql"],)
    member = admin.get("/docs", expect=200).json()["data_model_documentation"]["components"]["schemas"]["things"]["properties"]["v"]
    assert {key: member.get(key) for key in case["schema"]} == case["schema"]
    assert f"v: {case['typescript']} | null" in admin.get("/docs/client.ts", expect=200).text
    for default in [*case["wrong"], 5]:
        wrong = admin.post("/entities/things/fields", {"name": "w", "type": case["type"], "default": default}, expect=400)
        assert codes(wrong) == {"default": "type_mismatch"}, default
    # To texts and back, with a text that is no value.
    fields = "/entities/things/fields"
    assert admin.put(f"{fields}/v", {"type": "text", "unique": False}, expect=200).json()["type"] == "text"
    assert numbers(things, f"filter[v]={case['kept']}") == [2]
    bad = admin.post(ITEMS, {"v": "x", "n": 3}, expect=201).json()
    assert admin.put(f"{fields}/v", {"type": case["type"]}).status_code == 409
    admin.delete(f"{ITEMS}/{bad['id']}", expect=204)
    admin.put(f"{fields}/v", {"type": case["type"]}, expect=200)
    assert numbers(things, f"filter[v]={case['written']}") == [2]
    assert admin.put(f"{fields}/v", {"type": "integer"}).status_code == 400
    assert admin.put(f"{fields}/v", {"options": {"max_length": 5}}).status_code == 400


def test_events(things, case, db):
    """The payload of an event has the value as answers show it."""
    schema = things.schema(db)
    execute(db, f"insert into {schema}.event_listeners (source, entity_id, event) values ('workflow:1', %s, 'EntityCreated')",
            things.things["id"])
    execute(db, f"update {schema}.meta set model_version = model_version + 1")
    execute(db, "update platform.projects set epoch = epoch + 1 where slug = %s", things.id)

    def payload():
        record = things.item("things", n=5)
        with db.cursor() as cursor:
            cursor.execute(f"select payload from {schema}.outbox where entity_id = %s and record_id = %s", (things.things["id"], record["id"]))
            return cursor.fetchone()

    found = until(payload, "the change of listeners is known")
    assert json.dumps(found[0]).count(case["kept"]) >= 1
