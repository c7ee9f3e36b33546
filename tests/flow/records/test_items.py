"""Records: single reads and writes by every caller who may and every caller who may not."""
import re

import pytest
from groundwork.records import codes, ids, rows, table

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
ITEMS = "/entities/products/items"


@pytest.fixture(scope="module")
def shop(shared_project):
    shared_project.products = shared_project.entity("products")
    shared_project.reader = shared_project.user_with("products:read")
    shared_project.editor = shared_project.user(entities=["products"])
    return shared_project


def test_a_record_lives(shop):
    sent = {"name": "Chair", "price": 49.5, "amount": 3, "in_stock": True, "released": "2024-02-29"}
    made = shop.admin.post(ITEMS, sent, expect=201)
    record = made.json()
    assert list(record) == ["id", *sent, "created_at", "updated_at", "created_by"]
    assert {name: record[name] for name in sent} == sent
    assert TIME.fullmatch(record["created_at"]) and record["updated_at"] == record["created_at"]
    assert record["created_by"] == shop.admin.user["id"]
    path = f"{ITEMS}/{record['id']}"
    assert made.headers["Location"] == f"/org/{shop.id}{path}"
    assert made.headers["Content-Type"].startswith("application/json")
    assert shop.admin.get(path, expect=200).json() == record

    changed = shop.admin.put(path, {"price": 50, "amount": None}, expect=200).json()
    assert changed == {**record, "price": 50, "amount": None, "updated_at": changed["updated_at"]}
    assert changed["updated_at"] >= record["updated_at"]
    assert shop.admin.patch(path, {"name": "Stool"}, expect=200).json()["name"] == "Stool"
    assert shop.admin.put(path, {}, expect=200).json()["name"] == "Stool"

    gone = shop.admin.delete(path, expect=204)
    assert gone.content == b"" and "Content-Type" not in gone.headers
    for method in ("GET", "HEAD", "DELETE"):
        shop.admin.request(method, path, expect=404)
    shop.admin.put(path, {"name": "x"}, expect=404)
    shop.admin.patch(path, {"name": "x"}, expect=404)


def test_head_is_get_without_body(shop):
    record = shop.item("products", name="Head")
    for path in (ITEMS, f"{ITEMS}/{record['id']}", f"{ITEMS}/aggregate", f"{ITEMS}/export"):
        head, get = shop.admin.head(path, expect=200), shop.admin.get(path, expect=200)
        assert head.content == b"" and head.headers["Content-Type"] == get.headers["Content-Type"], path
        assert head.headers.get("ETag") == get.headers.get("ETag"), path


@pytest.mark.parametrize("text", ["0", "-1", "999999999", "9223372036854775807", "9223372036854775808", "1e3", "x", "1.0",
                                  "%31%30%30%30%30%30", "+1", " 1", "null", "0x1", "１"])
def test_ids_that_no_record_has(shop, text):
    for method in ("GET", "HEAD", "DELETE"):
        shop.admin.request(method, f"{ITEMS}/{text}", expect=404)
    shop.admin.put(f"{ITEMS}/{text}", {"name": "x"}, expect=404)
    shop.admin.post(f"{ITEMS}/{text}/lock", {}, expect=404)


@pytest.mark.parametrize("entity", ["absent", "Products", "svc_users", "users", "e_1", "products%20"])
def test_entities_that_do_not_exist(shop, entity):
    base = f"/entities/{entity}/items"
    shop.admin.get(base, expect=404)
    shop.admin.get(f"{base}/1", expect=404)
    shop.admin.get(f"{base}/aggregate", expect=404)
    shop.admin.get(f"{base}/export", expect=404)
    shop.admin.post(base, {"name": "x"}, expect=404)
    shop.admin.post(f"{base}/bulk", {"items": [{}]}, expect=404)
    shop.admin.post(f"{base}/delete-many", {"ids": [1]}, expect=404)
    shop.admin.delete(f"{base}/1", expect=404)


def test_nul_in_a_path_is_no_path(shop):
    for path in (f"{ITEMS}/1%00", "/entities/products%00/items"):
        assert shop.admin.get(path, expect=400).json()["code"] == "bad_request"


def test_other_methods_name_the_right_ones(shop):
    for method, path, allowed in (("PUT", ITEMS, {"GET", "HEAD", "POST", "DELETE"}),
                                  ("POST", f"{ITEMS}/1", {"GET", "HEAD", "PUT", "PATCH", "DELETE"}),
                                  ("PUT", f"{ITEMS}/1/lock", {"POST", "DELETE"})):
        answer = shop.admin.request(method, path, json={}, expect=405)
        assert {word.strip() for word in answer.headers["Allow"].split(",")} >= allowed, path


def test_what_the_server_itself_refuses_has_an_id(shop):
    for method in ("PROPFIND", "TRACE"):
        answer = shop.admin.request(method, ITEMS, expect=501)
        assert answer.headers["X-Request-Id"] == answer.json()["request_id"]


def test_writing_is_not_reading(shop):
    """A caller who may write but not read gets no field in an answer, and cannot filter by one."""
    shop.entity("plain", [{"name": "name", "type": "varchar"}], row_level_security=False)
    items = "/entities/plain/items"
    path = f"{items}/{shop.item('plain', name='hidden')['id']}"
    system = {"id", "created_at", "updated_at", "created_by"}
    assert set(shop.user_with("plain:update").put(path, {}, expect=200).json()) == system
    assert set(shop.user_with("plain:create").post(items, {}, expect=201).json()) == system
    remover = shop.user_with("plain:delete")
    for condition in ({"name": "hidden"}, {"name": {"starts_with": "h"}}):
        remover.post(f"{items}/delete-many", {"filter": condition, "max_affected": 1}, expect=400)
    shop.admin.get(path, expect=200)


def test_every_action_has_its_permission(shop):
    record = shop.item("products", client=shop.editor, name="Mine")
    path = f"{ITEMS}/{record['id']}"
    calls = {
        "read": [("GET", ITEMS, None), ("GET", path, None), ("GET", f"{ITEMS}/aggregate", None)],
        "create": [("POST", ITEMS, {"name": "x"}), ("POST", f"{ITEMS}/bulk", {"items": [{"name": "x"}]})],
        "update": [("PUT", path, {"name": "x"}), ("PATCH", path, {"name": "x"}), ("POST", f"{path}/lock", {}),
                   ("DELETE", f"{path}/lock", None)],
        "delete": [("DELETE", path, None), ("POST", f"{ITEMS}/delete-many", {"ids": [record["id"]]}),
                   ("DELETE", ITEMS, {"ids": [record["id"]]})],
    }
    for action, requests in calls.items():
        others = [f"products:{other}" for other in calls if other != action]
        user = shop.user_with(*others)
        for method, address, body in requests:
            options = {} if body is None else {"json": body}
            assert user.request(method, address, expect=403, **options).json()["code"] == "forbidden"
            assert shop.client().request(method, address, expect=401, **options).json()["code"] == "unauthorized"
    shop.admin.get(path, expect=200)


def test_records_need_api_access(shop):
    user = shop.user_with("products:read", api_access=False)
    assert user.get(ITEMS, expect=403).json()["code"] == "api_access_disabled"


def test_keys_act_for_their_creator(shop):
    maker = shop.user(permissions=["svc_api_keys:create"], entities=["products"])
    key = shop.key(["products:read", "products:create"], client=maker)
    record = key.post(ITEMS, {"name": "By key"}, expect=201).json()
    assert record["created_by"] == maker.user["id"]
    assert maker.get(f"{ITEMS}/{record['id']}", expect=200).json() == record
    key.put(f"{ITEMS}/{record['id']}", {"name": "x"}, expect=403)
    key.delete(f"{ITEMS}/{record['id']}", expect=403)


@pytest.mark.parametrize("name", ["id", "created_at", "updated_at", "created_by", "version"])
def test_a3_what_the_service_sets_is_read_only(shop, name):
    record = shop.item("products", name="Fixed")
    path = f"{ITEMS}/{record['id']}"
    for value in (999999, None, "2020-01-01T00:00:00Z"):
        for answer in (shop.admin.post(ITEMS, {"name": "x", name: value}), shop.admin.put(path, {name: value})):
            assert answer.status_code == 400 and codes(answer) == {name: "read_only"}, answer.text
    assert shop.admin.get(path).json() == record


@pytest.mark.parametrize("name", ["project_id", "tenant_id", "owner", "f_1", "xmin", "ctid", "tableoid", "NAME", "name ", "",
                                  "name.x", "__proto__", "\u202ename", "n" * 500])
def test_a3_members_that_do_not_exist(shop, name):
    for answer in (shop.admin.post(ITEMS, {"name": "x", name: 1}),
                   shop.admin.put(f"{ITEMS}/{shop.item('products', name='a')['id']}", {name: 1})):
        assert answer.status_code == 400 and set(codes(answer).values()) == {"unknown_field"}, answer.text


def test_projects_do_not_meet(shop, project):
    """A1: an id of one project is another record, or none, in another project, and a token of one project is refused by
    another."""
    record = shop.item("products", name="Here")
    project.entity("products")
    project.admin.get(f"{ITEMS}/{record['id']}", expect=404)
    shop.client(token=project.admin.token).get(f"{ITEMS}/{record['id']}", expect=401)
    project.client(token=shop.admin.token).get(ITEMS, expect=401)


def test_query_parameters_that_a_record_does_not_take(shop):
    record = shop.item("products", name="x")
    for query in ("page=1", "filter[name]=x", "nothing=1", "sort=name"):
        answer = shop.admin.get(f"{ITEMS}/{record['id']}?{query}", expect=400)
        assert answer.json()["code"] == "unknown_parameter", answer.text
    for method, path in (("POST", ITEMS), ("PUT", f"{ITEMS}/{record['id']}"), ("DELETE", f"{ITEMS}/{record['id']}")):
        answer = shop.admin.request(method, f"{path}?nothing=1", json={"name": "y"}, expect=400)
        assert answer.json()["code"] == "unknown_parameter", answer.text
    one = shop.admin.get(f"{ITEMS}/{record['id']}?fields=name,id", expect=200).json()
    assert one == {"id": record["id"], "name": "x"}


def test_deleting_what_others_refer_to(project, db):
    """on_delete: restrict keeps the record, set_null clears the reference, cascade deletes the referring record."""
    project.entity("authors", [{"name": "name", "type": "varchar"}])
    for rule in ("restrict", "set_null", "cascade"):
        options = {"entity": "authors", "on_delete": rule}
        project.entity(f"by_{rule}", [{"name": "author", "type": "relation", "options": options}])
    many = project.entity("many", [
        {"name": "authors", "type": "relation", "options": {"entity": "authors", "many": True}}])
    author = {rule: project.item("authors", name=rule)["id"] for rule in ("restrict", "set_null", "cascade", "many")}
    child = {rule: project.item(f"by_{rule}", author=author[rule])["id"] for rule in ("restrict", "set_null", "cascade")}
    group = project.item("many", authors=[author["many"], author["set_null"]])["id"]

    answer = project.admin.delete(f"/entities/authors/items/{author['restrict']}", expect=409)
    assert answer.json()["code"] == "foreign_key_violation" and "fk_" not in answer.text and "e_" not in answer.json()["detail"]
    project.admin.post("/entities/authors/items/delete-many", {"ids": list(author.values())}, expect=409)
    assert len(ids(project.admin.get("/entities/authors/items"))) == 4
    for rule in ("set_null", "cascade", "many"):
        project.admin.delete(f"/entities/authors/items/{author[rule]}", expect=204)
    assert project.admin.get(f"/entities/by_set_null/items/{child['set_null']}", expect=200).json()["author"] is None
    project.admin.get(f"/entities/by_cascade/items/{child['cascade']}", expect=404)
    assert project.admin.get(f"/entities/many/items/{group}", expect=200).json()["authors"] == []
    assert rows(db, f"select count(*) from {table(project, db, many)}")[0][0] == 1


def test_a_deleted_record_takes_grants_and_locks_along(project, db):
    project.entity("products")
    user = project.user(entities=["products"])
    record = project.item("products", name="x")
    path = f"{ITEMS}/{record['id']}"
    project.admin.put(f"{path}/rls-users", {"items": [{"user_id": user.user["id"]}]}, expect=200)
    token = project.admin.post(f"{path}/lock", {}, expect=200).json()["lock_token"]
    project.admin.delete(path, headers={"X-Lock-Token": token}, expect=204)
    schema = project.schema(db)
    assert rows(db, f"select count(*) from {schema}.record_grants")[0][0] == 0
    assert rows(db, f"select count(*) from {schema}.record_locks")[0][0] == 0
