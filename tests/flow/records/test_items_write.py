"""Writes: which values every type accepts and refuses, defaults, unique and required values, references."""
import concurrent.futures
import json
import random

import pytest
from groundwork.records import codes, ids

THINGS = "/entities/things/items"


@pytest.fixture(scope="module")
def world(shared_project):
    project = shared_project
    project.admin.post("/enums", {"name": "status", "values": ["open", "paid"]}, expect=201)
    project.entity("authors", [{"name": "name", "type": "varchar"}])
    project.entity("things", [
        {"name": "s", "type": "varchar", "options": {"max_length": 10}}, {"name": "t", "type": "text"},
        {"name": "i", "type": "integer", "options": {"min": -5, "max": 1000}}, {"name": "big", "type": "integer"},
        {"name": "f", "type": "float"}, {"name": "d", "type": "decimal"}, {"name": "b", "type": "bool"},
        {"name": "day", "type": "date"}, {"name": "at", "type": "datetime"}, {"name": "j", "type": "json"},
        {"name": "e", "type": "enum", "options": {"enum": "status"}}, {"name": "pass", "type": "secret"},
        {"name": "author", "type": "relation", "options": {"entity": "authors"}},
        {"name": "authors", "type": "relation", "options": {"entity": "authors", "many": True}}])
    project.entity("strict", [
        {"name": "code", "type": "varchar", "required": True, "unique": True},
        {"name": "number", "type": "integer", "unique": True},
        {"name": "state", "type": "enum", "options": {"enum": "status"}, "default": "open"},
        {"name": "tags", "type": "json", "default": ["a"]}])
    project.record = project.item("things")
    project.author = project.item("authors", name="Ana")["id"]
    return project


def write_both(world, expect, text):
    """Sends the body as a new record and as a change, as raw text so that numbers stay as written; returns both answers."""
    headers = {"Content-Type": "application/json"}
    text = text.encode() if isinstance(text, str) else text
    made = world.admin.post(THINGS, None, data=text, headers=headers, expect=expect or 201)
    changed = world.admin.put(f"{THINGS}/{world.record['id']}", None, data=text, headers=headers, expect=expect or 200)
    return made, changed


@pytest.mark.parametrize("field, text, shown", [
    ("s", '""', None), ("s", '"ten chars."', None), ("s", '"日本語日本語日本語日"', None), ("s", r'"😀"', "😀"),
    ("s", '"  x "', None), ("s", '"\'; drop"', None), ("t", '"' + "x" * 100000 + '"', None), ("t", r'"a\tb\nc\u0001"', None),
    ("i", "-5", None), ("i", "1000", None), ("i", "7.0", 7), ("i", "1e2", 100), ("i", "null", None), ("i", "-0", 0),
    ("big", "9223372036854775807", None), ("big", "-9223372036854775808", None),
    ("f", "1.5", None), ("f", "1e308", None), ("f", "5e-324", None), ("f", "3", None), ("f", "0.1", None), ("f", "-0.0", None),
    ("d", "0.1", None), ("d", "1.10", 1.1), ("d", '"1.10"', 1.1), ("d", "-3", None), ("d", '"0.00000001"', 1e-8),
    ("d", "1e10", 1e10),
    ("b", "true", None), ("b", "false", None), ("day", '"2024-02-29"', None), ("day", '"0001-01-01"', None),
    ("day", '"9999-12-31"', None),
    ("at", '"2026-01-31T12:00:00Z"', "2026-01-31T12:00:00.000Z"),
    ("at", '"2026-01-31T12:00:00.123+02:00"', "2026-01-31T10:00:00.123Z"),
    ("at", '"9999-12-31T23:59:59.999Z"', None), ("at", '"0001-01-01T00:00:00Z"', "0001-01-01T00:00:00.000Z"),
    ("at", '"2026-01-31T12:00:00.123456Z"', "2026-01-31T12:00:00.123Z"),
    ("j", "{}", None), ("j", "[]", None), ("j", "0", None), ("j", "false", None), ("j", '""', None), ("j", "null", None),
    ("j", '{"a": [1, 2.5, null, {"b": "\\u00e9"}], "z": 1, "a b": true}', None), ("j", "12345678901234567", None),
    ("e", '"paid"', None), ("e", "null", None), ("pass", '"x"', "********"), ("pass", "null", None), ("pass", '""', "********"),
    ("author", "null", None), ("authors", "[]", None), ("authors", "null", []),
])
def test_values_that_every_type_takes(world, field, text, shown):
    wanted = json.loads(text) if shown is None else shown
    if field == "pass" and text == "null":
        wanted = None
    for answer in write_both(world, None, f'{{"{field}": {text}}}'):
        assert answer.json()[field] == wanted and type(answer.json()[field]) in (type(wanted), float, int)
        path = f"{THINGS}/{answer.json()['id']}"
        assert world.admin.get(path, expect=200).json() == answer.json()


def test_decimals_keep_every_digit(world):
    for text in ('"12345678901234567890123456789.123456789"', '"0.10000000000000000000000000000000000001"', "123456789012345678"):
        for answer in write_both(world, None, f'{{"d": {text}}}'):
            assert f'"d":{text.strip(chr(34))}' in answer.text.replace(" ", ""), answer.text


@pytest.mark.parametrize("field, text, code", [
    ("s", '"eleven char"', "too_long"), ("s", '"日本語日本語日本語日本"', "too_long"), ("s", "1", "type_mismatch"),
    ("s", "{}", "type_mismatch"),
    ("s", "[]", "type_mismatch"), ("s", "true", "type_mismatch"), ("t", "1", "type_mismatch"),
    ("i", "-6", "out_of_range"), ("i", "1001", "out_of_range"), ("i", "1.5", "type_mismatch"), ("i", '"1"', "type_mismatch"),
    ("i", "true", "type_mismatch"), ("i", "1e300", "type_mismatch"), ("big", "9223372036854775808.0", "type_mismatch"),
    ("f", '"1"', "type_mismatch"), ("f", "true", "type_mismatch"), ("d", '"x"', "type_mismatch"), ("d", '"NaN"', "type_mismatch"),
    ("d", '""', "type_mismatch"), ("d", '"1e1000"', None), ("d", '"' + "1" * 39 + '"', "out_of_range"),
    ("d", "1e300", "out_of_range"),
    ("d", "true", "type_mismatch"), ("d", '" 1"', "type_mismatch"), ("b", "1", "type_mismatch"), ("b", '"true"', "type_mismatch"),
    ("day", '"2024-02-30"', "pattern"), ("day", '"2024-2-1"', "pattern"), ("day", '"today"', "pattern"),
    ("day", "20240101", "type_mismatch"),
    ("day", '"0000-01-01"', "out_of_range"), ("day", '"2024-01-01T00:00:00Z"', "pattern"), ("at", '"2024-1-1"', "pattern"),
    ("at", '"now"', "pattern"), ("at", "1700000000", "type_mismatch"), ("at", '"2024-01-01T00"', "pattern"),
    ("at", '"0000-12-31T00:00:00Z"', None), ("at", '"9999-12-31T23:59:59-01:00"', None),
    ("at", '"2024-01-01T25:00:00Z"', "pattern"),
    ("e", '"closed"', "out_of_range"), ("e", '"Open"', "out_of_range"), ("e", "0", "type_mismatch"), ("e", '""', "out_of_range"),
    ("pass", "1", "type_mismatch"), ("author", "0", "out_of_range"), ("author", "-1", "out_of_range"),
    ("author", '"1"', "type_mismatch"),
    ("author", "[1]", "type_mismatch"), ("author", "999999", "foreign_key_violation"),
    ("author", "9223372036854775807", "foreign_key_violation"),
    ("authors", "1", "type_mismatch"), ("authors", '["1"]', "type_mismatch"), ("authors", "[1,1]", "out_of_range"),
    ("authors", "[0]", "out_of_range"),
    ("authors", "[999999]", "foreign_key_violation"), ("authors", "[1,999999]", "foreign_key_violation"),
    ("authors", "[null]", "type_mismatch"),
    ("authors", "{}", "type_mismatch"),
])
def test_values_that_no_type_takes(world, field, text, code):
    before = world.admin.get(f"{THINGS}/{world.record['id']}").json()
    count = world.admin.get(f"{THINGS}?limit=1").json()["total_items"]
    for answer in write_both(world, 400, f'{{"{field}": {text}}}'):
        assert answer.json()["code"] == "validation_failed"
        found = codes(answer)
        assert list(found) == [field] and (code is None or found[field] == code), answer.text
    assert world.admin.get(f"{THINGS}/{world.record['id']}").json() == before
    assert world.admin.get(f"{THINGS}?limit=1").json()["total_items"] == count


@pytest.mark.parametrize("text", [
    "", "{", "nothing", "{}x", '{"s": "a", "s": "b"}', '{"s": "\\u0000"}', '{"j": "\\u0000"}', '{"\\u0000": 1}', '{"s": "\\ud800"}',
    '{"big": 9223372036854775808}', '{"f": 1e999}', '{"f": NaN}', '{"f": 01}', '{"s": "\x01"}', "{'s': 1}", '{"s": 1,}', "\ufeff{}",
    '{"j": ' + "[" * 5000 + "]" * 5000 + "}",
])
def test_bodies_that_are_no_json(world, text):
    for answer in write_both(world, 400, text.encode()):
        assert answer.json()["code"] in ("invalid_json", "validation_failed"), answer.text


def test_bytes_that_are_no_text(world):
    for body in (b'{"s": "\xff"}', b'{"s": "\xc0\x80"}', b'{"s": "\xed\xa0\x80"}', b'\xff\xfe{}', b'{"j": {"\xff": 1}}'):
        for answer in write_both(world, 400, body):
            assert answer.json()["code"] == "invalid_json"


@pytest.mark.parametrize("text", ["[]", "null", "1", '"x"', "true", '[{"s": "x"}]'])
def test_bodies_that_are_no_record(world, text):
    for answer in write_both(world, 400, text):
        assert answer.json()["code"] == "validation_failed" and "object" in answer.json()["detail"]


def test_content_types(world):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "json"):
        answer = world.admin.post(THINGS, None, data=b'{"s": "x"}', headers={"Content-Type": kind}, expect=415)
        assert answer.json()["code"] == "unsupported_media_type"
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8"):
        world.admin.post(THINGS, None, data=b'{"s": "x"}', headers={"Content-Type": kind}, expect=201)


def test_a_body_too_large(world):
    answer = world.admin.post(THINGS, None, data=b'{"t": "' + b"x" * (2 << 20) + b'"}', headers={"Content-Type": "application/json"},
                              expect=413)
    assert answer.json()["code"] == "payload_too_large"


def test_all_findings_at_once(world):
    answer = world.admin.post(THINGS, {"s": 1, "i": 5000, "nothing": 1, "id": 5, "day": "x", "author": 999999}, expect=400)
    found = codes(answer)
    assert found == {"s": "type_mismatch", "i": "out_of_range", "nothing": "unknown_field", "id": "read_only", "day": "pattern"}


def test_required_and_defaults(world):
    path = "/entities/strict/items"
    assert codes(world.admin.post(path, {}, expect=400)) == {"code": "required"}
    assert codes(world.admin.post(path, {"code": None}, expect=400)) == {"code": "required"}
    record = world.admin.post(path, {"code": "a1"}, expect=201).json()
    assert (record["state"], record["tags"], record["number"]) == ("open", ["a"], None)
    other = world.admin.post(path, {"code": "a2", "state": None, "tags": []}, expect=201).json()
    assert (other["state"], other["tags"]) == (None, [])
    one = f"{path}/{record['id']}"
    assert codes(world.admin.put(one, {"code": None}, expect=400)) == {"code": "required"}
    assert world.admin.put(one, {"state": None}, expect=200).json()["state"] is None
    assert world.admin.put(one, {}, expect=200).json()["state"] is None


def test_unique_values(world):
    path = "/entities/strict/items"
    first = world.admin.post(path, {"code": "u1", "number": 1}, expect=201).json()
    second = world.admin.post(path, {"code": "u2", "number": 2}, expect=201).json()
    for body, field in (({"code": "u1"}, "code"), ({"code": "u9", "number": 1}, "number")):
        answer = world.admin.post(path, body, expect=409)
        assert answer.json()["code"] == "unique_violation" and codes(answer) == {field: "unique_violation"}
        assert "u_" not in answer.json()["detail"] and "duplicate key" not in answer.text
    assert codes(world.admin.put(f"{path}/{second['id']}", {"number": 1}, expect=409)) == {"number": "unique_violation"}
    world.admin.put(f"{path}/{first['id']}", {"code": "u1", "number": 1}, expect=200)
    for code in ("U1", "u1 ", "n1", "n2"):
        world.admin.post(path, {"code": code, "number": None}, expect=201)


def test_unique_texts_as_long_as_an_index_holds(project):
    """A B-tree page holds a key of 2.7 kB: enough for 600 different characters of four bytes each."""
    for extra in ({"unique": True}, {"indexed": True}):
        project.admin.post("/entities", {"name": "papers", "fields": [{"name": "body", "type": "text", **extra}]}, expect=400)
    options = {"max_length": 600}
    project.entity("papers", [{"name": "body", "type": "text", "unique": True, "options": options},
                              {"name": "key", "type": "varchar", "indexed": True, "options": options}])
    path = "/entities/papers/items"
    text = "".join(chr(0x10000 + random.getrandbits(16)) for _ in range(600))
    project.admin.post(path, {"body": text, "key": text}, expect=201)
    project.admin.post(path, {"body": text}, expect=409)
    project.admin.post(path, {"key": text}, expect=201)
    assert len(ids(project.admin.get(path, params={"filter[key]": text}))) == 2


def test_a2_references_to_hidden_records_read_as_missing(project):
    project.entity("notes", [{"name": "name", "type": "varchar"}])
    project.entity("links", [{"name": "note", "type": "relation", "options": {"entity": "notes"}},
                             {"name": "notes", "type": "relation", "options": {"entity": "notes", "many": True}}])
    user = project.user(entities=["notes", "links"])
    hidden, own = project.item("notes", name="hidden")["id"], project.item("notes", client=user, name="own")["id"]
    link = project.item("links", client=user, note=own, notes=[own])
    path = f"/entities/links/items/{link['id']}"
    bulk = "/entities/links/items/bulk"

    def answers(number):
        return [
            user.post("/entities/links/items", {"note": number}), user.post("/entities/links/items", {"notes": [own, number]}),
            user.put(path, {"note": number}), user.put(path, {"notes": [number]}),
            user.post(bulk, {"items": [{"note": own}, {"note": number}]}), user.post(bulk, {"items": [{"notes": [number]}]}),
            user.post(bulk, {"items": [{"note": number}], "atomic": False})]

    for answer, other in zip(answers(hidden), answers(999999)):
        assert answer.status_code == other.status_code
        body, missing = answer.json(), other.json()
        for part in (body, missing):
            part.pop("request_id", None)
        assert body == missing, (body, missing)
        if answer.status_code != 201:
            assert answer.status_code == 400 and "foreign_key_violation" in set(codes(answer).values())
        else:
            assert body["failed"] == 1
    assert user.get(path, expect=200).json() == link
    assert len(ids(user.get("/entities/links/items"))) == 1
    project.admin.put(path, {"note": hidden, "notes": [hidden, own]}, expect=200)
    seen = user.get(path, expect=200).json()
    assert seen["notes"] == [own]
    assert user.put(path, {"notes": [own]}, expect=200).json()["notes"] == [own]
    assert sorted(project.admin.get(path).json()["notes"]) == sorted([hidden, own]), "a hidden link was lost"


def test_writes_at_once_count_once(world):
    """Exactly one of ten concurrent writers of a unique value succeeds; concurrent changes of one list of links all succeed."""
    clients = [world.client(token=world.admin.token) for _ in range(10)]
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        made = list(pool.map(lambda client: client.post("/entities/strict/items", {"code": "race"}).status_code, clients))
    assert sorted(made) == [201] + [409] * 9
    path = f"{THINGS}/{world.item('things', big=0)['id']}"
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        done = list(pool.map(lambda client: client.put(path, {"authors": [world.author]}).status_code, clients))
    assert done == [200] * 10
    assert world.admin.get(path).json()["authors"] == [world.author]


HIDDEN = "The record cannot be stored as it is; ask an administrator."


@pytest.fixture
def tickets(project):
    """A user who may write a unique field but not read it."""
    project.entity("tickets", [{"name": "name", "type": "varchar", "unique": True}, {"name": "code", "type": "varchar", "unique": True},
                               {"name": "serial", "type": "varchar", "unique": True, "default": "first"}], row_level_security=False)
    rules = [{"entity": "tickets", "action": "read", "fields": ["name"]}] + [
        {"entity": "tickets", "action": action, "fields": ["name", "code"]} for action in ("create", "update")]
    user = project.user_with("tickets:read", "tickets:create", "tickets:update", field_access=rules)
    project.item("tickets", name="a", code="taken", serial="of-a")
    return project, user, project.item("tickets", name="b", code="free", serial="of-b")["id"]


def test_a_write_tells_nothing_of_a_unique_field_that_its_caller_may_not_read(tickets):
    project, user, record = tickets
    items = "/entities/tickets/items"

    def check(refused):
        assert refused["code"] == "conflict" and refused["detail"] == HIDDEN and "errors" not in refused, refused

    check(user.post(items, {"name": "c", "code": "taken"}, expect=409).json())
    check(user.put(f"{items}/{record}", {"code": "taken"}, expect=409).json())
    user.post(items, {"name": "c", "code": "c"}, expect=201)
    check(user.post(items, {"name": "d", "code": "d"}, expect=409).json())  # the default of a field that the user may not even write
    atomic = user.post(f"{items}/bulk", {"items": [{"name": "e", "code": "taken"}], "atomic": True}, expect=409)
    assert atomic.json()["code"] == "conflict" and "code" not in str(atomic.json().get("errors", "")).replace("'code': 'conflict'", "")
    assert "exist" not in atomic.text and "taken" not in atomic.text
    each = user.post(f"{items}/bulk", {"items": [{"name": "e", "code": "taken"}], "atomic": False})
    assert HIDDEN in each.text and "unique" not in each.text and "taken" not in each.text, each.text
    body = {"items": [{"name": "b", "code": "taken"}], "mode": "upsert", "on_conflict": ["name"]}
    upserted = user.post(f"{items}/bulk", body)
    assert HIDDEN in upserted.text and "unique" not in upserted.text and "taken" not in upserted.text, upserted.text
    seen = user.post(items, {"name": "a", "code": "new"}, expect=409).json()
    assert seen["code"] == "unique_violation" and seen["errors"][0]["field"] == "name"
    told = project.admin.post(items, {"name": "z", "code": "taken"}, expect=409).json()
    assert told["errors"][0]["field"] == "code"
