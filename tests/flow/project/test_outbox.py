"""Events: the transaction of a change writes an outbox row for each event that has a listener, and no other row."""
import concurrent.futures

import pytest
from groundwork.project import Project
from groundwork.records import execute, listen, outbox, outbox_end, rows, table

ITEMS = "/entities/orders/items"
ALL = ("EntityCreated", "EntityUpdated", "EntityDeleted")


@pytest.fixture(scope="module")
def shop(shared_project, servers):
    project = shared_project
    project.entity("tags", [{"name": "name", "type": "varchar"}])
    project.orders = project.entity("orders", [
        {"name": "sku", "type": "varchar", "unique": True}, {"name": "n", "type": "integer"}, {"name": "token", "type": "secret"},
        {"name": "tag", "type": "relation", "options": {"entity": "tags"}},
        {"name": "tags", "type": "relation", "options": {"entity": "tags", "many": True}}])
    project.tags = [project.item("tags", name=str(n))["id"] for n in range(2)]
    connection = servers.connect()
    listen(project, connection, project.orders, *ALL)
    connection.close()
    return project


@pytest.fixture
def events(shop, db):
    """A function that returns the events since its last call, as (event, record id), or as whole rows if requested."""
    last = outbox_end(shop, db)

    def read(whole=False):
        nonlocal last
        found = outbox(shop, db, last)
        last = outbox_end(shop, db)
        return found if whole else [row[:2] for row in found]

    return read


def test_one_of_each(shop, events):
    record = shop.item("orders", sku="a", n=1, token="t0p", tags=shop.tags)
    path = f"{ITEMS}/{record['id']}"
    shop.admin.put(path, {"n": 2}, expect=200)
    shop.admin.put(path, {"tags": []}, expect=200)
    shop.admin.delete(path, expect=204)
    found = events(whole=True)
    assert [row[0] for row in found] == ["EntityCreated", "EntityUpdated", "EntityUpdated", "EntityDeleted"]
    assert all(row[1] == record["id"] and row[3] == shop.admin.user["id"] for row in found)
    created, updated, untagged, deleted = (row[2] for row in found)
    assert created == record and (updated["n"], untagged["tags"]) == (2, [])
    assert deleted["n"] == 2 and deleted["sku"] == "a", "the payload of a deletion is the record before the deletion"
    assert all(row[2]["token"] == "********" for row in found) and "t0p" not in str(found)


def test_the_payload_is_whole_whoever_writes(shop, events):
    role = shop.role(permissions=["orders:read", "orders:create"], field_access=[
        {"entity": "orders", "action": "read", "fields": ["sku"]}, {"entity": "orders", "action": "create", "fields": ["sku"]}])
    user = shop.user(role_ids=[role["id"]])
    made = user.post(ITEMS, {"sku": "limited"}, expect=201).json()
    (event, number, payload, actor), = events(whole=True)
    assert event == "EntityCreated" and number == made["id"] and actor == user.user["id"]
    assert set(payload) == {"id", "sku", "n", "token", "tag", "tags", "created_at", "updated_at", "created_by"}


EACH_TYPE = {
    "word": "wörd \"quoted\" {p} $1", "note": "line\nline", "n": -9007199254740993, "price": 5.10, "share": 1e21, "tiny": 1e-7, "on": False,
    "day": "2026-02-28", "at": "2026-02-28T23:59:59.987654+02:00", "early": "0001-01-01T00:00:00Z", "doc": {"a": [1, 2.50, None], "b": {}},
    "token": "hidden", "colour": "red"}


@pytest.mark.parametrize("decimal", [False, True], ids=["told before it is stored", "told when it is stored"])
def test_the_payload_says_what_the_record_says(project, db, decimal):
    project.admin.post("/enums", {"name": "colours", "values": ["red", "blue"]}, expect=201)
    types = {"word": "varchar", "note": "text", "n": "integer", "price": "float", "share": "float", "tiny": "float", "on": "bool", "day": "date",
             "at": "datetime", "early": "datetime", "doc": "json", "token": "secret"}
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    fields.append({"name": "colour", "type": "enum", "options": {"enum": "colours"}})
    fields.append({"name": "level", "type": "integer", "default": 7})
    things = project.entity("things", [*fields, *([{"name": "cost", "type": "decimal"}] if decimal else [])])
    fields = [{"name": "one", "type": "relation", "options": {"entity": "things"}},
              {"name": "many", "type": "relation", "options": {"entity": "things", "many": True}}]
    for field in fields:
        project.admin.post("/entities/things/fields", field, expect=201)
    listen(project, db, things, "EntityCreated", "EntityUpdated")
    last = outbox_end(project, db)
    first = project.item("things", **EACH_TYPE, **({"cost": "12.50"} if decimal else {}))
    made = [first, project.item("things"), project.item("things", one=first["id"], word="")]
    made.append(project.admin.put(f"/entities/things/items/{first['id']}", {"n": 5}, expect=200).json())
    assert [row[2] for row in outbox(project, db, last)] == made
    assert [row[:2] for row in outbox(project, db, last)] == [*(("EntityCreated", r["id"]) for r in made[:3]), ("EntityUpdated", first["id"])]
    assert (made[0]["level"], made[1]["many"], made[2]["one"]) == (7, [], first["id"])


def test_bulk_upsert_and_deletes(shop, events):
    body = shop.admin.post(f"{ITEMS}/bulk", {"items": [{"sku": f"b{n}", "tags": shop.tags[:1]} for n in range(450)]}, expect=201).json()
    made = [result["id"] for result in body["results"]]
    assert sorted(events()) == [("EntityCreated", number) for number in made]
    items = [{"sku": "b0", "n": 5}, {"sku": "fresh", "n": 5}]
    body = shop.admin.post(f"{ITEMS}/bulk", {"items": items, "mode": "upsert", "on_conflict": ["sku"]}, expect=201).json()
    fresh = body["results"][1]["id"]
    assert sorted(events()) == [("EntityCreated", fresh), ("EntityUpdated", made[0])]
    shop.admin.post(f"{ITEMS}/delete-many", {"ids": [*made[:300], 999999]}, expect=200)
    assert sorted(events()) == [("EntityDeleted", number) for number in made[:300]]
    shop.admin.post(f"{ITEMS}/delete-many", {"filter": {"sku": {"starts_with": "b"}}}, expect=200)
    assert sorted(events()) == [("EntityDeleted", number) for number in made[300:]]


def test_imports(shop, events):
    text = "sku,n\r\n" + "".join(f"i{n},{n}\r\n" for n in range(300)) + "i0,1\r\nx,notanumber\r\n"
    answer = shop.admin.post(f"{ITEMS}/import", files={"file": ("x.csv", text, "text/csv")}, expect=202)
    task = shop.admin.get(f"/tasks/{answer.json()['task_id']}").json()
    assert (task["done"], task["failed"]) == (300, 2)
    found = events()
    assert len(found) == 300 and {event for event, _ in found} == {"EntityCreated"} and len({number for _, number in found}) == 300


def test_changes_that_do_not_happen_make_no_events(shop, events):
    record = shop.item("orders", sku="there", n=1)
    path = f"{ITEMS}/{record['id']}"
    events()
    shop.admin.post(ITEMS, {"sku": "there"}, expect=409)
    shop.admin.post(ITEMS, {"sku": "x", "tag": 999999}, expect=400)
    shop.admin.put(path, {"tag": 999999}, expect=400)
    shop.admin.put(path, {"n": 9}, headers={"If-Match": '"77-a"'}, expect=412)
    shop.admin.put(f"{ITEMS}/999999", {"n": 9}, expect=404)
    shop.admin.delete(f"{ITEMS}/999999", expect=404)
    shop.admin.delete(path, headers={"If-Match": '"77-a"'}, expect=412)
    shop.admin.post(f"{ITEMS}/bulk", {"items": [{"sku": "new"}, {"sku": "there"}]}, expect=409)
    shop.admin.post(f"{ITEMS}/bulk", {"items": [{"sku": "new"}, {"sku": "new", "n": 1}, {"sku": "x", "tag": 999999}]}, expect=400)
    shop.admin.post(f"{ITEMS}/delete-many", {"filter": {"n": {"gte": 0}}, "max_affected": 1})
    shop.admin.post(f"{ITEMS}/delete-many", {"ids": [999999]}, expect=200)
    other = shop.item("orders", sku="other")["id"]
    assert events() in ([("EntityCreated", other)], [("EntityDeleted", record["id"]), ("EntityCreated", other)])
    part = shop.admin.post(f"{ITEMS}/bulk", {"items": [{"sku": "p1"}, {"sku": "p1"}], "atomic": False}, expect=201).json()
    assert events() == [("EntityCreated", part["results"][0]["id"])]
    token = shop.admin.post(f"{ITEMS}/{other}/lock", {}, expect=200).json()["lock_token"]
    shop.admin.put(f"{ITEMS}/{other}", {"n": 1}, expect=423)
    shop.admin.delete(f"{ITEMS}/{other}", expect=423)
    shop.admin.put(f"{ITEMS}/{other}", {}, headers={"X-Lock-Token": token}, expect=200)
    assert events() == []


def test_an_event_that_cannot_be_stored_stops_the_change(shop, db, events):
    """The event is part of the change's transaction: a change whose event cannot be stored is not made."""
    schema = shop.schema(db)
    record = shop.item("orders", sku="held", n=1)
    events()
    execute(db, f"alter table {schema}.outbox add constraint stop check (depth < 0) not valid")
    try:
        answers = [
            shop.admin.post(ITEMS, {"sku": "lost"}), shop.admin.put(f"{ITEMS}/{record['id']}", {"n": 2}),
            shop.admin.delete(f"{ITEMS}/{record['id']}"), shop.admin.post(f"{ITEMS}/bulk", {"items": [{"sku": "lost2"}]}),
            shop.admin.post(f"{ITEMS}/bulk", {"items": [{"sku": "held", "n": 3}], "mode": "upsert", "on_conflict": ["sku"]}),
            shop.admin.post(f"{ITEMS}/delete-many", {"ids": [record["id"]]})]
    finally:
        execute(db, f"alter table {schema}.outbox drop constraint stop")
    assert all(answer.status_code >= 400 for answer in answers), [answer.status_code for answer in answers]
    assert shop.admin.get(f"{ITEMS}/{record['id']}", expect=200).json()["n"] == 1
    assert shop.admin.get(f"{ITEMS}?filter[sku][starts_with]=lost").json()["items"] == [] and events() == []


def test_as_many_events_as_changes_under_load(shop, db, events):
    record = shop.item("orders", sku="busy", n=0)
    events()
    clients = [shop.client(token=shop.admin.token) for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda n: clients[n % 8].put(f"{ITEMS}/{record['id']}", {"n": n}).status_code, range(80)))
    assert done.count(200) == len(events())
    version = rows(db, f"select version from {table(shop, db, shop.orders)} where id = %s", record["id"])[0][0]
    assert version == 1 + done.count(200)


def test_nobody_listens(shop, db, events):
    """Changes of an entity without listeners write no event."""
    number = shop.item("tags", name="quiet")["id"]
    shop.admin.put(f"/entities/tags/items/{number}", {"name": "x"}, expect=200)
    shop.admin.delete(f"/entities/tags/items/{number}", expect=204)
    shop.admin.post("/entities/tags/items/bulk", {"items": [{"name": "x"}]}, expect=201)
    assert events() == []


def test_only_the_event_that_is_listened_to(project, db):
    orders = project.entity("orders", [{"name": "sku", "type": "varchar", "unique": True}])
    listen(project, db, orders, "EntityDeleted")
    number = project.item("orders", sku="a")["id"]
    project.admin.put(f"{ITEMS}/{number}", {"sku": "b"}, expect=200)
    body = {"items": [{"sku": "b"}, {"sku": "c"}], "mode": "upsert", "on_conflict": ["sku"]}
    project.admin.post(f"{ITEMS}/bulk", body, expect=201)
    assert outbox(project, db) == []
    project.admin.delete(f"{ITEMS}/{number}", expect=204)
    assert [row[:2] for row in outbox(project, db)] == [("EntityDeleted", number)]


@pytest.fixture(scope="module")
def family(session_gateway, operator, recorder, servers):
    """People with pets that are deleted with them, pets with toys that remain, and visits that refer to several people."""
    project = Project(session_gateway, operator, recorder)
    project.entity("people", [{"name": "name", "type": "varchar"}])
    owner = {"name": "owner", "type": "relation", "options": {"entity": "people", "on_delete": "cascade"}}
    project.pets = project.entity("pets", [{"name": "name", "type": "varchar"}, owner])
    mother = {"name": "mother", "type": "relation", "options": {"entity": "pets", "on_delete": "cascade"}}
    project.admin.post("/entities/pets/fields", mother, expect=201)
    pet = {"name": "pet", "type": "relation", "options": {"entity": "pets", "on_delete": "set_null"}}
    project.toys = project.entity("toys", [{"name": "name", "type": "varchar"}, pet])
    guests = {"name": "guests", "type": "relation", "options": {"entity": "people", "many": True}}
    project.visits = project.entity("visits", [{"name": "name", "type": "varchar"}, guests])
    connection = servers.connect()
    for entity in (project.pets, project.toys, project.visits):
        listen(project, connection, entity, "EntityUpdated", "EntityDeleted")
    connection.close()
    return project


@pytest.mark.parametrize("many", [False, True], ids=["delete", "delete-many"])
def test_what_goes_with_a_record_is_emitted_too(family, db, many):
    """Deleting a record emits EntityDeleted for each record that on_delete cascade deletes, and EntityUpdated, with another
    version, for each reference that is removed."""
    item, admin = family.item, family.admin
    people = [item("people", name=name)["id"] for name in "ab"]
    cat = item("pets", name="cat", owner=people[0])
    kitten = item("pets", name="kitten", mother=cat["id"], owner=people[0])
    dog = item("pets", name="dog", owner=people[1])["id"]
    mouse = item("toys", name="mouse", pet=kitten["id"])["id"]
    visit = item("visits", name="tea", guests=people)["id"]
    admin.put(f"/entities/pets/items/{cat['id']}/rls-users", {"items": [{"user_id": admin.user["id"]}]}, expect=200)
    etag = admin.get(f"/entities/toys/items/{mouse}", expect=200).headers["ETag"]
    last = outbox_end(family, db)
    if many:
        admin.post("/entities/people/items/delete-many", {"ids": people[:1]}, expect=200)
    else:
        admin.delete(f"/entities/people/items/{people[0]}", expect=204)
    told = {(event, payload["name"]): payload for event, _, payload, _ in outbox(family, db, last)}
    assert set(told) == {("EntityDeleted", "cat"), ("EntityDeleted", "kitten"), ("EntityUpdated", "mouse"), ("EntityUpdated", "tea")}
    assert len(outbox(family, db, last)) == 4, "each event is written once, however many references lead to its record"
    assert told["EntityDeleted", "cat"] == cat and told["EntityDeleted", "kitten"] == kitten
    assert told["EntityUpdated", "mouse"] == admin.get(f"/entities/toys/items/{mouse}", expect=200).json()
    assert told["EntityUpdated", "mouse"]["pet"] is None and told["EntityUpdated", "tea"]["guests"] == people[1:]
    admin.put(f"/entities/toys/items/{mouse}", {"name": "old"}, headers={"If-Match": etag}, expect=412)
    admin.get(f"/entities/pets/items/{dog}", expect=200)
    grants = f"select count(*) from {family.schema(db)}.record_grants where record_id = %s"
    assert rows(db, grants, cat["id"]) == [(0,)]
    admin.get(f"/entities/visits/items/{visit}", expect=200)


def test_what_stays_is_not_emitted(family, db):
    """A refused deletion emits no event for dependent records."""
    person = family.item("people", name="c")
    family.item("pets", name="cat", owner=person["id"])
    path = f"/entities/people/items/{person['id']}"
    token = family.admin.post(path + "/lock", expect=200).json()["lock_token"]
    last = outbox_end(family, db)
    family.admin.delete(path, expect=423)
    family.admin.delete(path, headers={"If-Match": '"77-1"', "X-Lock-Token": token}, expect=412)
    family.admin.delete("/entities/people/items/424242", expect=404)
    assert outbox(family, db, last) == []
    family.admin.delete(path, headers={"X-Lock-Token": token}, expect=204)
    assert [row[0] for row in outbox(family, db, last)] == ["EntityDeleted"]
