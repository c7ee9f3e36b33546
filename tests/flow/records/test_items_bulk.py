"""Bulk creates, upserts and deletes: all items or none, or a result for each item."""
import concurrent.futures

import pytest
from groundwork.records import codes, ids

ITEMS = "/entities/goods/items"
BULK = f"{ITEMS}/bulk"
DELETE = f"{ITEMS}/delete-many"


@pytest.fixture(scope="module")
def shop(shared_project):
    project = shared_project
    project.entity("tags", [{"name": "name", "type": "varchar"}])
    project.entity("goods", [
        {"name": "sku", "type": "varchar", "unique": True}, {"name": "code", "type": "integer", "unique": True},
        {"name": "n", "type": "integer", "default": 5}, {"name": "text", "type": "text"},
        {"name": "tags", "type": "relation", "options": {"entity": "tags", "many": True}},
        {"name": "tag", "type": "relation", "options": {"entity": "tags"}}])
    project.tags = [project.item("tags", name=str(n))["id"] for n in range(3)]
    return project


@pytest.fixture(autouse=True)
def empty(shop):
    yield
    shop.admin.post(DELETE, {"filter": {"id": {"gt": 0}}, "max_affected": 10000}, expect=200)


def total(shop):
    return shop.admin.get(f"{ITEMS}?limit=1").json()["total_items"]


def test_a_thousand(shop):
    items = [{"sku": f"s{n}", "code": n, "text": "x" * (n % 50), "tags": shop.tags[: n % 4], "tag": shop.tags[n % 3]} for n in range(1000)]
    body = shop.admin.post(BULK, {"items": items}, expect=201).json()
    assert (body["created"], body["updated"], body["failed"]) == (1000, 0, 0)
    assert [result["index"] for result in body["results"]] == list(range(1000))
    records = shop.admin.get(f"{ITEMS}?sort=code&limit=500").json()["items"]
    for n, record in enumerate(records):
        assert record["id"] == body["results"][n]["id"] and record["sku"] == f"s{n}" and record["n"] == 5
        assert record["tags"] == shop.tags[: n % 4] and record["tag"] == shop.tags[n % 3]
        assert record["created_by"] == shop.admin.user["id"]
    shop.admin.post(BULK, {"items": items + [{}]}, expect=400)
    answer = shop.admin.post(DELETE, {"ids": [result["id"] for result in body["results"]]}, expect=200).json()
    assert answer == {"deleted": 1000, "not_found": []}


@pytest.mark.parametrize("body, field", [
    ({}, "items"), ({"items": []}, "items"), ({"items": {}}, "items"), ({"items": "x"}, "items"), ({"items": None}, "items"),
    ({"items": [{}], "mode": "replace"}, "mode"), ({"items": [{}], "mode": "upsert"}, "on_conflict"),
    ({"items": [{}], "mode": "upsert", "on_conflict": ["n"]}, "on_conflict"),
    ({"items": [{}], "mode": "upsert", "on_conflict": ["nothing"]}, "on_conflict"),
    ({"items": [{}], "mode": "upsert", "on_conflict": ["sku", "code"]}, "on_conflict"),
    ({"items": [{}], "mode": "upsert", "on_conflict": []}, "on_conflict"),
    ({"items": [{}], "mode": "upsert", "on_conflict": "sku"}, "on_conflict"),
    ({"items": [{}], "mode": "upsert", "on_conflict": ["id"]}, "on_conflict"),
    ({"items": [{}], "mode": "upsert", "on_conflict": ["sku"]}, "items[0].sku"),
    ({"items": [{"sku": None}], "mode": "upsert", "on_conflict": ["sku"]}, "items[0].sku"),
    ({"items": [{}], "atomic": "yes"}, "atomic"), ({"items": [{}], "nothing": 1}, "nothing"), ({"items": [1]}, "items[0]"),
    ({"items": [{"n": 1}, None]}, "items[1]"), ({"items": [{"n": 1}, {"n": "x"}]}, "items[1].n"),
    ({"items": [{"id": 5}]}, "items[0].id"),
    ({"items": [{"n": 1}, {"tag": 999999}]}, "items[1].tag"), ({"items": [{"n": 1}, {"tags": [999999]}]}, "items[1].tags"),
])
def test_bodies_that_make_no_sense(shop, body, field):
    answer = shop.admin.post(BULK, body, expect=400)
    assert field in codes(answer), answer.text
    assert total(shop) == 0


def test_all_or_nothing(shop):
    shop.item("goods", sku="taken", code=1)
    for items, status, field in (
            ([{"sku": "a"}, {"sku": "taken"}], 409, "items[1].sku"),
            ([{"sku": "a"}, {"sku": "b"}, {"sku": "a"}], 409, "items[2].sku"),
            ([{"code": 1}, {"sku": "a"}], 409, "items[0].code"), ([{"sku": "a"}, {"n": "x"}], 400, "items[1].n")):
        answer = shop.admin.post(BULK, {"items": items}, expect=status)
        assert field in codes(answer), answer.text
        assert total(shop) == 1


def test_item_by_item(shop):
    shop.item("goods", sku="taken", code=1)
    items = [{"sku": "a"}, {"sku": "taken"}, {"n": "x"}, {"sku": "b", "tag": 999999}, {"sku": "c", "tags": [shop.tags[0], 999999]},
             {"sku": "d", "code": 1}, {"nothing": 1}, {"sku": "a"}, 5, {"sku": "e", "tags": shop.tags[:2]}]
    body = shop.admin.post(BULK, {"items": items, "atomic": False}, expect=201).json()
    assert (body["created"], body["updated"], body["failed"]) == (2, 0, 8)
    failed = {result["index"]: result["error"] for result in body["results"] if "error" in result}
    assert {index: error["code"] for index, error in failed.items()} == {
        1: "unique_violation", 2: "validation_failed", 3: "validation_failed", 4: "validation_failed", 5: "unique_violation",
        6: "validation_failed", 7: "unique_violation", 8: "validation_failed"}
    assert failed[1]["errors"][0]["field"] == "sku" and failed[5]["errors"][0]["field"] == "code"
    assert failed[3]["errors"][0]["code"] == failed[4]["errors"][0]["code"] == "foreign_key_violation"
    assert total(shop) == 3
    assert shop.admin.get(f"{ITEMS}/{body['results'][9]['id']}").json()["tags"] == shop.tags[:2]


def test_upserts(shop):
    first = shop.item("goods", sku="a", n=1, text="kept", tags=shop.tags[:1])
    items = [{"sku": "a", "n": 2}, {"sku": "b", "tags": shop.tags}, {"sku": "b", "n": 7}]
    body = shop.admin.post(BULK, {"items": items, "mode": "upsert", "on_conflict": ["sku"]}, expect=201).json()
    assert (body["created"], body["updated"], body["failed"]) == (1, 2, 0)
    assert body["results"][0]["id"] == first["id"] and body["results"][1]["id"] == body["results"][2]["id"]
    changed = shop.admin.get(f"{ITEMS}/{first['id']}")
    assert changed.json() == {**first, "n": 2, "updated_at": changed.json()["updated_at"]}, "what was left out must stay"
    assert changed.json()["updated_at"] > first["updated_at"] and changed.headers["ETag"].startswith('"2-')
    other = shop.admin.get(f"{ITEMS}/{body['results'][1]['id']}").json()
    assert other["n"] == 7 and other["text"] is None
    again = shop.admin.post(BULK, {"items": [{"sku": "a", "tags": [], "text": None}], "mode": "upsert", "on_conflict": ["sku"]}, expect=201).json()
    assert again["updated"] == 1 and shop.admin.get(f"{ITEMS}/{first['id']}").json()["tags"] == []


def test_upserts_of_changed_fields_alone(shop):
    """An item that updates a stored record may leave out fields that a new record requires."""
    shop.admin.post("/entities", {"name": "boxes", "history": True, "fields": [
        {"name": "code", "type": "varchar", "unique": True}, {"name": "label", "type": "varchar", "required": True},
        {"name": "n", "type": "integer", "required": True}, {"name": "note", "type": "text"}]}, expect=201)
    first = shop.item("boxes", code="a", label="A", n=1)

    def upsert(*items, expect=201, **options):
        return shop.admin.post("/entities/boxes/items/bulk", {"items": items, "mode": "upsert", "on_conflict": ["code"], **options}, expect=expect)

    answer = upsert({"code": "a", "note": "x"}, {"code": "b", "label": "B", "n": 2}, {"code": "b", "n": 3}).json()
    assert (answer["created"], answer["updated"]) == (1, 2)
    assert shop.admin.get(f"/entities/boxes/items/{first['id']}").json() | {"updated_at": 0} == {**first, "note": "x", "updated_at": 0}
    assert shop.admin.get(f"/entities/boxes/items/{answer['results'][1]['id']}").json()["n"] == 3
    assert len(shop.admin.get(f"/entities/boxes/items/{first['id']}/history").json()["items"]) == 2
    assert codes(upsert({"code": "a", "n": 9}, {"code": "c", "n": 1}, expect=400)) == {"items[1].label": "required"}
    assert codes(upsert({"code": "c"}, expect=400)) == {"items[0].label": "required", "items[0].n": "required"}
    assert codes(upsert({"code": "a", "label": None}, expect=400)) == {"items[0].label": "required"}
    assert shop.admin.get(f"/entities/boxes/items/{first['id']}").json()["n"] == 1, "all or nothing"
    each = upsert({"code": "c", "n": 1}, {"code": "a", "n": 5}, atomic=False).json()
    assert (each["created"], each["updated"], each["failed"]) == (0, 1, 1) and each["results"][0]["error"]["code"] == "validation_failed"
    other = shop.user_with("boxes:create", "boxes:read", "boxes:update")
    body = {"items": [{"code": "a", "n": 6}], "mode": "upsert", "on_conflict": ["code"]}
    assert codes(other.post("/entities/boxes/items/bulk", body, expect=409)) == {"items[0].code": "unique_violation"}


def test_upserts_that_meet_another_unique_value(shop):
    shop.item("goods", sku="a", code=1)
    shop.item("goods", sku="b", code=2)
    body = {"items": [{"sku": "c", "code": 9}, {"sku": "a", "code": 2}], "mode": "upsert", "on_conflict": ["sku"]}
    answer = shop.admin.post(BULK, body, expect=409)
    assert codes(answer) == {"items[1].code": "unique_violation"} and total(shop) == 2
    each = shop.admin.post(BULK, {**body, "atomic": False}, expect=201).json()
    assert (each["created"], each["failed"]) == (1, 1) and total(shop) == 3


def test_upserts_need_both_permissions(shop):
    user = shop.user_with("goods:create", "goods:read")
    body = {"items": [{"sku": "x"}], "mode": "upsert", "on_conflict": ["sku"]}
    assert user.post(BULK, body, expect=403).json()["code"] == "forbidden"
    user.post(BULK, {"items": [{"sku": "x"}]}, expect=201)


def test_upserts_at_once(shop):
    """Concurrent upserts of the same keys in different orders make each key once."""
    clients = [shop.client(token=shop.admin.token) for _ in range(6)]
    keys = [f"k{n}" for n in range(40)]

    def run(number):
        items = [{"sku": key, "n": number} for key in (keys if number % 2 else reversed(keys))]
        return clients[number].post(BULK, {"items": items, "mode": "upsert", "on_conflict": ["sku"]}).status_code

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        done = list(pool.map(run, range(6)))
    assert set(done) <= {201, 503} and 201 in done, done
    assert total(shop) == 40
    assert len({item["n"] for item in shop.admin.get(f"{ITEMS}?limit=500").json()["items"]}) == 1, "a torn upsert"


# --- delete-many --------------------------------------------------------------------------------


@pytest.fixture
def stock(shop):
    items = [{"sku": f"s{n}", "n": n, "text": ["a", "a,b", "null", "", None][n % 5], "tag": shop.tags[n % 3]} for n in range(20)]
    return [result["id"] for result in shop.admin.post(BULK, {"items": items}, expect=201).json()["results"]]


@pytest.mark.parametrize("method, path", [("POST", DELETE), ("DELETE", ITEMS)])
def test_deletes_by_id(shop, stock, method, path):
    body = shop.admin.request(method, path, json={"ids": [stock[0], 999999, stock[1], stock[0], 0, -5]}, expect=200).json()
    assert body == {"deleted": 2, "not_found": [999999, 0, -5]}
    assert ids(shop.admin.get(f"{ITEMS}?sort=id&limit=500")) == stock[2:]


@pytest.mark.parametrize("condition, gone", [
    ({"n": 3}, [3]), ({"n": {"gte": 5, "lt": 8}}, [5, 6, 7]), ({"n": {"in": [1, 2, 99]}}, [1, 2]),
    ({"n": {"between": [3, 4]}}, [3, 4]),
    ({"or": [{"n": 1}, {"n": {"gt": 18}}]}, [1, 19]), ({"or": {"0": {"n": 1}, "1": {"n": 2}}}, [1, 2]),
    ({"sku": {"starts_with": "s1"}, "n": {"lt": 12}}, [1, 10, 11]), ({"tag.name": "0"}, list(range(0, 20, 3))),
    ({"text": "a,b"}, [1, 6, 11, 16]), ({"text": {"in": ["a,b", ""]}}, [1, 3, 6, 8, 11, 13, 16, 18]), ({"text": "null"}, [2, 7, 12, 17]), ({"text": {"null": True}}, [4, 9, 14, 19]),
    ({"text": ""}, [3, 8, 13, 18]),
    ({"and": [{"n": {"gt": 3}}, {"or": [{"n": 4}, {"n": 2}]}]}, [4]), ({"n": 1.0}, None), ({"sku": {"in": ["s1", "s2"]}}, [1, 2]),
])
def test_deletes_by_filter(shop, stock, condition, gone):
    if gone is None:
        assert shop.admin.post(DELETE, {"filter": condition}).status_code in (200, 400)
        return
    body = shop.admin.post(DELETE, {"filter": condition}, expect=200).json()
    assert body == {"deleted": len(gone), "not_found": []}
    assert ids(shop.admin.get(f"{ITEMS}?sort=id&limit=500")) == [number for n, number in enumerate(stock) if n not in gone]


@pytest.mark.parametrize("body", [
    {}, {"ids": []}, {"filter": {}}, {"ids": [1], "filter": {"n": 1}}, {"ids": "1"}, {"ids": ["1"]}, {"ids": [1.5]},
    {"ids": [None]}, {"ids": None},
    {"ids": list(range(1001))}, {"filter": []}, {"filter": "n=1"}, {"filter": {"n": {}}}, {"filter": {"n": {}, "sku": "s1"}},
    {"filter": {"n": []}},
    {"filter": {"n": None}}, {"filter": {"text": None}}, {"filter": {"text": {"eq": None}}}, {"filter": {"text": ["a", "b"]}},
    {"filter": {"text": {"in": []}}}, {"filter": {"text": {"in": [None]}}},
    {"filter": {"n": {"in": [[1]]}}},
    {"filter": {"or": []}}, {"filter": {"or": [{}]}}, {"filter": {"or": [{"n": 1}, {}]}}, {"filter": {"or": {"n": 1}}},
    {"filter": {"nothing": 1}},
    {"filter": {"n": {"like": 1}}}, {"filter": {"n": "x"}}, {"filter": {"n": True}}, {"filter": {"n": {"eq": {"eq": 1}}}},
    {"filter": {"n": 1}, "max_affected": 0}, {"filter": {"n": 1}, "max_affected": 10001},
    {"filter": {"n": 1}, "max_affected": "5"},
    {"filter": {"or": [{"n": n} for n in range(60)]}}, {"filter": {"": 1}},
    {"filter": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1}}}}}}}}},
    {"ids": [1], "nothing": 1},
])
def test_deletes_that_make_no_sense(shop, stock, body):
    answer = shop.admin.post(DELETE, body, expect=400)
    assert codes(answer), answer.text
    assert total(shop) == 20


def test_the_guard(shop, stock):
    answer = shop.admin.post(DELETE, {"filter": {"n": {"gte": 0}}, "max_affected": 19}, expect=409)
    assert answer.json()["code"] == "too_many_rows" and total(shop) == 20
    assert shop.admin.post(DELETE, {"filter": {"n": {"gte": 0}}, "max_affected": 20}, expect=200).json()["deleted"] == 20
    items = [{"n": 1}] * 501
    shop.admin.post(BULK, {"items": items}, expect=201)
    assert shop.admin.post(DELETE, {"filter": {"n": 1}}, expect=409).json()["code"] == "too_many_rows", "max_affected is 500 by default"
    assert shop.admin.post(DELETE, {"filter": {"n": 1}, "max_affected": 501}, expect=200).json()["deleted"] == 501


def test_deletes_and_their_permission(shop, stock):
    user = shop.user_with("goods:read", "goods:create", "goods:update")
    user.post(DELETE, {"ids": stock}, expect=403)
    user.delete(ITEMS, json={"ids": stock}, expect=403)
    other = shop.user(entities=["goods"])
    assert other.post(DELETE, {"ids": stock}, expect=200).json() == {"deleted": 0, "not_found": stock}
    assert total(shop) == 20
