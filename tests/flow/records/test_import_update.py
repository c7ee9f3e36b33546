"""Imports that change existing records: mode=upsert with on_conflict=id or a unique field, under the same rights and with the
same events and history as other writes."""
import concurrent.futures
import csv
import io
import json

import pytest
from groundwork.records import listen, outbox, outbox_end, rows

ITEMS = "/entities/goods/items"
KEYS = ["id", "sku"]


@pytest.fixture(scope="module")
def shop(shared_project, servers):
    project = shared_project
    project.entity("tags", [{"name": "name", "type": "varchar"}])
    project.goods = project.entity("goods", [
        {"name": "sku", "type": "varchar", "unique": True, "required": True}, {"name": "code", "type": "varchar", "unique": True},
        {"name": "n", "type": "integer", "options": {"min": 0}}, {"name": "text", "type": "text"},
        {"name": "tags", "type": "relation", "options": {"entity": "tags", "many": True}}], history=True)
    project.tags = [project.item("tags", name=str(n))["id"] for n in range(2)]
    connection = servers.connect()
    listen(project, connection, project.goods, "EntityCreated", "EntityUpdated")
    connection.close()
    return project


@pytest.fixture
def made(shop):
    """Ten records, by sku."""
    for item in shop.admin.get(f"{ITEMS}?limit=500").json()["items"]:
        shop.admin.delete(f"{ITEMS}/{item['id']}", expect=204)
    for n in range(10):
        shop.item("goods", sku=f"s{n}", n=n, text=f"t{n}", tags=shop.tags)
    return stored(shop)


def stored(shop):
    return {item["sku"]: item for item in shop.admin.get(f"{ITEMS}?limit=500", expect=200).json()["items"]}


def send(client, text, name="x.csv", key="sku", expect=202, path=ITEMS, **params):
    return client.post(f"{path}/import", files={"file": (name, text, "application/octet-stream")}, expect=expect,
                       params={"mode": "upsert", "on_conflict": key, **params})


def task_of(client, answer):
    return client.get(f"/tasks/{answer.json()['task_id']}", expect=200).json()


def as_csv(key, records):
    """Returns a CSV file of the records, of which some have neither id nor sku."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [*dict.fromkeys([key, *records[-1]])], restval="")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("key", KEYS)
def test_rows_change_and_make_records(shop, made, db, key, form):
    """Rows update and create records: a column that the file lacks keeps the stored value, and an empty cell is null."""
    last = outbox_end(shop, db)
    records = [{key: made[f"s{n}"][key], "n": 100 + n, "text": None if n == 3 else f"new {n}"} for n in range(5)]
    if key == "id":
        records = [{**record, "sku": f"s{n}"} for n, record in enumerate(records)]
    records += [{"sku": f"new{n}", "n": n, "text": "x"} for n in range(3)]
    text = as_csv(key, records) if form == "csv" else "\n".join(json.dumps(record) for record in records)
    task = task_of(shop.admin, send(shop.admin, text, f"x.{form}", key))
    assert (task["status"], task["done"], task["failed"]) == ("succeeded", 8, 0), task
    after = stored(shop)
    assert len(after) == 13
    for n in range(10):
        old, new = made[f"s{n}"], after[f"s{n}"]
        assert new["id"] == old["id"] and new["tags"] == shop.tags and new["created_by"] == old["created_by"]
        assert (new["n"], new["text"]) == ((100 + n, None if n == 3 else f"new {n}") if n < 5 else (old["n"], old["text"]))
    events = [(row[0], row[1], row[3]) for row in outbox(shop, db, last)]
    mine = shop.admin.user["id"]
    assert sorted(events) == sorted(
        [("EntityUpdated", after[f"s{n}"]["id"], mine) for n in range(5)] + [("EntityCreated", after[f"new{n}"]["id"], mine) for n in range(3)])
    kept = shop.admin.get(f"{ITEMS}/{made['s1']['id']}/history", expect=200).json()["items"]
    assert [entry["by"] for entry in kept] == [mine, mine] and kept[0]["version"] == 2, kept


@pytest.mark.parametrize("key", KEYS)
def test_what_is_refused_costs_nothing_else(shop, made, key):
    """A row that the checks or the database refuse does not prevent the import of the other rows."""
    shop.admin.put(f"{ITEMS}/{made['s9']['id']}", {"code": "taken"}, expect=200)
    records = [{"id": made[f"s{n % 8}"]["id"], "sku": f"s{n % 8}", "n": n, "code": None} for n in range(400)]
    records[5]["n"] = -1
    records[7]["code"] = "taken"
    records[250]["sku" if key == "sku" else "id"] = None if key == "sku" else 999999
    records[300]["code"] = "taken"
    for record in records:
        record.pop("id" if key == "sku" else "", None)
    task = task_of(shop.admin, send(shop.admin, as_csv(key, records), key=key))
    assert (task["status"], task["done"], task["failed"]) == ("partial", 396, 4), task
    assert [error["row"] for error in task["errors"]] == [6, 8, 251, 301]
    assert [error["code"] for error in task["errors"]] == [
        "validation_failed", "unique_violation", "validation_failed" if key == "sku" else "not_found", "unique_violation"]
    after = stored(shop)
    assert {sku: item["n"] for sku, item in after.items()} == {**{f"s{n}": 392 + n for n in range(8)}, "s8": 8, "s9": 9}
    assert not [error for error in task["errors"] if "items[" in error["detail"]], "errors name rows by number"


def test_an_export_that_was_changed_comes_back(shop, made):
    exported = shop.admin.get(f"{ITEMS}/export?format=csv", expect=200).text
    task = task_of(shop.admin, send(shop.admin, exported.replace(",t3,", ',"t, ""3""",'), key="id"))
    assert (task["status"], task["done"]) == ("succeeded", 10), task
    after = stored(shop)
    assert after["s3"]["text"] == 't, "3"'
    assert {sku: item["text"] for sku, item in after.items() if sku != "s3"} == {sku: item["text"] for sku, item in made.items() if sku != "s3"}


def test_rows_of_others_and_locked_ones(shop, made):
    """The row rule and locks hold as for any change: a record that the caller may not see is treated as missing."""
    user = shop.user_with("goods:read", "goods:create", "goods:update")
    own = user.post(ITEMS, {"sku": "own", "n": 1}, expect=201).json()
    before = stored(shop)
    text = f"id,n\n{own['id']},2\n{made['s1']['id']},77\n999999,77\n"
    task = task_of(user, send(user, text, key="id"))
    assert (task["done"], [error["code"] for error in task["errors"]]) == (1, ["not_found", "not_found"]), task
    assert task["errors"][0]["detail"] == task["errors"][1]["detail"]
    task = task_of(user, send(user, "sku,n\nown,3\ns1,77\n", key="sku"))
    assert (task["done"], [error["code"] for error in task["errors"]]) == (1, ["unique_violation"]), task
    after = stored(shop)
    assert after["own"]["n"] == 3 and {**after, "own": 0} == {**before, "own": 0}
    locked = f"{ITEMS}/{made['s5']['id']}/lock"
    token = shop.admin.post(locked, {}, expect=200).json()["lock_token"]
    for key, line in (("id", f"{made['s5']['id']},78"), ("sku", "s5,78")):
        task = task_of(shop.admin, send(shop.admin, f"{key},n\n{line}\n", key=key))
        assert (task["done"], [error["code"] for error in task["errors"]]) == (0, ["locked"]), task
    shop.admin.delete(locked, headers={"X-Lock-Token": token}, expect=204)


def test_rights(shop, made):
    for permissions in (["goods:read", "goods:create"], ["goods:read", "goods:update"], ["goods:read"]):
        for key in KEYS:
            answer = send(shop.user_with(*permissions), f"{key},n\n,1\n", key=key, expect=403).json()
            assert answer["code"] == "forbidden"
    fields = [{"entity": "goods", "action": "read", "fields": ["sku", "n"]}, {"entity": "goods", "action": "create", "fields": ["sku", "n"]},
              {"entity": "goods", "action": "update", "fields": ["n"]}]
    user = shop.user_with("goods:read", "goods:create", "goods:update", field_access=fields)
    own = user.post(ITEMS, {"sku": "limited", "n": 1}, expect=201).json()
    send(user, "code,n\nx,1\n", key="code", expect=400)
    send(user, f"id,text\n{own['id']},x\n", key="id", expect=400)
    # A value as it was read is no change; any other value of a field that the caller may not write is refused.
    task = task_of(user, send(user, f"id,sku,n\n{own['id']},limited,2\n{own['id']},other,3\n", key="id"))
    assert (task["done"], [error["row"] for error in task["errors"]]) == (1, [2]), task
    assert user.get(f"{ITEMS}/{own['id']}").json()["n"] == 2


@pytest.mark.parametrize("params", [
    {"mode": "replace"}, {"on_conflict": ""}, {"on_conflict": "n"}, {"on_conflict": "created_at"}, {"on_conflict": "nothing"},
    {"mode": "create"}, {"mode": "create", "on_conflict": "id"}, {"on_conflict": "tags"}])
def test_modes_that_make_no_sense(shop, params):
    send(shop.admin, "sku,n\na,1\n", expect=400, **{"key": params.pop("on_conflict", "sku"), **params})
    shop.admin.post(f"{ITEMS}/import", files={"file": ("x.csv", "sku\na\n", "text/csv")}, params={"mode": "upsert"}, expect=400)


@pytest.mark.parametrize("key", KEYS)
def test_a_file_without_the_key(shop, made, key):
    answer = send(shop.admin, "n,text\n1,x\n", key=key, expect=400).json()
    assert key in answer["detail"] and stored(shop) == made


@pytest.mark.parametrize("key", KEYS)
def test_a_dry_run_changes_nothing(shop, made, key):
    records = [{key: made[f"s{n}"][key], "n": n - 1} for n in range(10)]
    answer = send(shop.admin, as_csv(key, records), key=key, expect=200, dry_run="true").json()
    assert (answer["rows"], answer["taken"], answer["refused"]) == (10, 9, 1) and stored(shop) == made


def test_a_mapped_id(shop, made):
    task = task_of(shop.admin, send(shop.admin, f"Nr,n\n{made['s2']['id']},55\n", key="id", **{"mapping[Nr]": "id"}))
    assert task["done"] == 1 and stored(shop)["s2"]["n"] == 55


@pytest.mark.parametrize("key", KEYS)
def test_two_at_once_against_each_other(shop, made, key):
    """Concurrent imports of the same rows in opposite orders are all imported."""
    records = [{key: made[f"s{n}"][key], "n": n} for n in range(10)] * 20
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda n: send(shop.admin, as_csv(key, records[::(-1) ** n]), key=key), range(4)))
    for answer in answers:
        task = task_of(shop.admin, answer)
        assert (task["status"], task["done"]) == ("succeeded", 200), task


def test_memory_of_large_records(shop, made, db):
    """Rows that change one large record many times are all imported, each as one version."""
    text = "x" * 500_000
    shop.admin.put(f"{ITEMS}/{made['s0']['id']}", {"text": text}, expect=200)
    task = task_of(shop.admin, send(shop.admin, "id,n\n" + f"{made['s0']['id']},1\n" * 100, key="id"))
    assert task["done"] == 100
    (count,), = rows(db, f"select version from {shop.schema(db)}.e_{shop.goods['id']} where id = %s", made["s0"]["id"])
    assert count == 102
