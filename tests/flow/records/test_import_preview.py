"""POST .../items/import?dry_run=true shows what a file contains; mapping[column]=field imports its columns into fields."""
import json

import pytest

FIELDS = [
    {"name": "sku", "type": "varchar", "required": True, "unique": True, "options": {"max_length": 20}},
    {"name": "price", "type": "float"},
    {"name": "amount", "type": "integer", "options": {"min": 0}},
    {"name": "added", "type": "date"},
]
ITEMS = "/entities/wares/items"


@pytest.fixture
def project(empty_project):
    return empty_project


@pytest.fixture
def wares(project):
    project.entity("wares", FIELDS)
    return project


def send(client, content, name="x.csv", expect=200, dry_run="true", **params):
    return client.post(f"{ITEMS}/import", files={"file": (name, content, "application/octet-stream")}, expect=expect,
                       params={"dry_run": dry_run, **params}).json()


def count(project):
    return project.admin.get(ITEMS, expect=200).json()["total_items"]


def columns(answer):
    return {column["column"]: column for column in answer["columns"]}


def test_columns_types_and_problems_of_a_file(wares):
    wares.item("wares", sku="taken")
    tasks = wares.admin.get("/tasks", expect=200).json()["items"]
    text = ("Article,price,amount,added,Note,Flag\n"
            "a,1.5,1,2026-01-31,hello,true\n"
            "a,2,2,2026-02-01,,false\n"
            "taken,3,3,,x,true\n"
            "b,4,-1,,x,true\n"
            "c,5,5,never,x,true\n"
            "d,6,6\n")
    answer = send(wares.admin, text, **{"mapping[Article]": "sku"})
    found = columns(answer)
    assert {name: (column["field"], column["type"], column["guessed_type"]) for name, column in found.items()} == {
        "Article": ("sku", "varchar", "varchar"), "price": ("price", "float", "float"),
        "amount": ("amount", "integer", "integer"), "added": ("added", "date", "varchar"), "Note": (None, None, "varchar"),
        "Flag": (None, None, "bool")}
    assert (found["Note"]["filled"], found["Note"]["empty"]) == (4, 1) and found["Article"]["examples"] == ["a", "a", "taken"]
    assert (answer["rows"], answer["taken"], answer["refused"]) == (6, 1, 5)
    assert [error["row"] for error in answer["errors"]] == [2, 3, 4, 5, 6]
    assert count(wares) == 1, "nothing was done"
    assert wares.admin.get("/tasks", expect=200).json()["items"] == tasks


def test_the_same_parameters_import(wares):
    text = "Article,price,Note\na,1.5,x\nb,2,y\n"
    refused = wares.admin.post(f"{ITEMS}/import", files={"file": ("x.csv", text, "text/csv")}, expect=400).json()
    assert {error["field"] for error in refused["errors"]} == {"Article", "Note"}
    mapping = {"mapping[Article]": "sku", "mapping[Note]": ""}
    assert send(wares.admin, text, **mapping)["taken"] == 2
    assert "task_id" in send(wares.admin, text, expect=202, dry_run="false", **mapping)
    assert sorted((item["sku"], item["price"]) for item in wares.admin.get(ITEMS).json()["items"]) == [("a", 1.5), ("b", 2)]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_members_of_objects(wares, form):
    records = [{"Article": "a", "price": 1, "tags": ["x"], "when": "2026-01-31T12:00:00Z"},
               {"Article": "b", "price": None, "n": 5, "when": "2026-02-01T12:00:00Z"}]
    text = json.dumps(records) if form == "json" else "\n".join(map(json.dumps, records))
    mapping = {"mapping[Article]": "sku", "mapping[tags]": "", "mapping[n]": "", "mapping[when]": ""}
    answer = send(wares.admin, text, f"x.{form}", **mapping)
    assert {name: column["guessed_type"] for name, column in columns(answer).items()} == {
        "Article": "varchar", "price": "integer", "tags": "json", "when": "datetime", "n": "integer"}
    assert (answer["taken"], answer["refused"], count(wares)) == (2, 0, 0)
    send(wares.admin, text, f"x.{form}", expect=202, dry_run="false", **mapping)
    assert count(wares) == 2


def test_only_the_beginning_is_looked_at(wares):
    text = "sku,price\n" + "".join(f"s{n},{n}\n" for n in range(50000)) + 'broken "here'
    answer = send(wares.admin, text)
    assert (answer["rows"], answer["taken"], count(wares)) == (200, 200, 0)


def test_what_rights_hide_stays_hidden(wares):
    role = wares.role(permissions=["wares:create", "wares:read"], field_access=[
        {"entity": "wares", "action": action, "fields": ["sku"]} for action in ("read", "create")])
    user = wares.user(role_ids=[role["id"]])
    answer = send(user, "sku,price\na,1\n")
    assert columns(answer)["price"]["field"] is None and columns(answer)["price"]["type"] is None
    reader = wares.user(permissions=["wares:read"])
    reader.post(f"{ITEMS}/import", files={"file": ("x.csv", "sku\na\n", "text/csv")}, params={"dry_run": "true"}, expect=403)


@pytest.mark.parametrize("params", [
    {"mapping[a]": "nothing"}, {"mapping[a]": "id"}, {"mapping[a]": "created_at"}, {"mapping": "sku"}, {"mapping[a][b]": "sku"},
    {"mapping[elsewhere]": "price"}, {"mapping[a]": "sku", "mapping[sku]": "sku"}, {"dry_run": "maybe"},
])
def test_mappings_that_make_no_sense(wares, params):
    send(wares.admin, "sku,a\nx,1\n", expect=400, **params)


@pytest.mark.parametrize("content", ["", "\n\n", '"sku\n', "sku\n" + "x" * 3000000, b"sku\n\xff\n".decode("latin-1").encode("latin-1")])
def test_files_that_are_odd(wares, content):
    answer = wares.admin.post(f"{ITEMS}/import", files={"file": ("x.csv", content, "text/csv")}, params={"dry_run": "true"})
    assert answer.status_code in (200, 400) and count(wares) == 0
