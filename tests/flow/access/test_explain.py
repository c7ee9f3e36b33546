"""GET /permissions/explain: every check of a request, in order, and what decided the check."""
import json

import pytest

ITEMS = "/entities/orders/items"


def explain(client, path, method="GET", **params):
    return client.get("/permissions/explain", params={"path": path, "method": method, **params}, expect=200).json()


def check_of(told, name, nth=0):
    return [check for check in told["checks"] if check["check"] == name][nth]


def grant_sources(check):
    return {(giver["kind"], giver["name"]) for giver in check["given_by"]}


@pytest.fixture
def orders(project):
    project.entity("orders", row_level_security=True)
    return project


def test_the_order_of_checks_and_the_role_that_gives(orders):
    role = orders.role("Sales", permissions=["orders:read", "orders:create"])
    seller = orders.user(role_ids=[role["id"], orders.role("Nobody")["id"]])
    told = explain(seller, ITEMS)
    assert [check["check"] for check in told["checks"]] == ["account", "permission", "api_access", "fields"]
    assert told["allowed"] and told["status"] == 200 and told["reason"] is None and told["route"] == "items_list"
    assert check_of(told, "permission")["needs"] == "orders:read"
    assert grant_sources(check_of(told, "permission")) == {("role", "Sales")}
    refused = explain(seller, f"{ITEMS}/1", "DELETE")
    assert not refused["allowed"] and refused["status"] == 403 and refused["code"] == "forbidden"
    assert refused["reason"] == "This needs the permission orders:delete."
    answer = seller.delete(f"{ITEMS}/1", expect=403).json()
    assert (answer["code"], answer["detail"]) == (refused["code"], refused["reason"])


def test_the_flag_and_the_administrator(orders):
    user = orders.user_with("orders:read", api_access=False)
    told = explain(user, ITEMS)
    assert told["code"] == "api_access_disabled" == user.get(ITEMS, expect=403).json()["code"]
    assert check_of(told, "permission")["passed"] and not check_of(told, "api_access")["passed"]
    told = explain(user, "/cors/clear-cache", "POST")
    assert told["code"] == "admin_required" and not check_of(told, "administrator")["passed"]
    told = explain(orders.admin, "/cors/clear-cache", "POST")
    assert told["allowed"] and grant_sources(check_of(told, "administrator")) == {("role", "Admin User")}


def test_the_row_rule_and_what_opens_a_record(orders):
    mine = orders.user(entities=["orders"])
    other = orders.user(entities=["orders"])
    record = f"{ITEMS}/{orders.item('orders', mine, name='x')['id']}"
    assert grant_sources(check_of(explain(mine, record), "record")) == {("owner", None)}
    closed = explain(other, record)
    assert closed["status"] == 404 == other.get(record).status_code
    missing = explain(other, f"{ITEMS}/424242")
    assert check_of(missing, "record")["reason"] == check_of(closed, "record")["reason"], "the reasons for a hidden and a missing record differ"
    user_id = other.get("/users/me", expect=200).json()["id"]
    told = explain(orders.admin, record, user_id=user_id)
    assert "belongs to user" in check_of(told, "record")["reason"]
    group = orders.admin.post("/groups", {"name": "Readers"}, expect=201).json()
    orders.admin.post(f"/groups/{group['id']}/members", {"user_ids": [user_id]})
    orders.admin.put(f"{record}/rls-groups", {"items": [{"group_id": group["id"]}]}, expect=200)
    told = explain(other, record)
    assert told["allowed"] and grant_sources(check_of(told, "record")) == {("group", "Readers")}
    told = explain(other, record, "PUT")
    assert told["status"] == 403 == other.put(record, {"name": "y"}).status_code
    assert not check_of(told, "record")["given_by"]
    orders.admin.put(f"{record}/rls-users", {"items": [{"user_id": user_id, "can_update": True}]}, expect=200)
    told = explain(other, record, "PUT")
    assert told["allowed"] and {kind for kind, _ in grant_sources(check_of(told, "record"))} == {"user"}
    assert grant_sources(check_of(explain(orders.admin, record), "record")) == {("administrator", None)}


def test_fields(orders):
    role = orders.role("Narrow", permissions=["orders:read"],
                       field_access=[{"entity": "orders", "action": "read", "fields": ["name"]}])
    user = orders.user(role_ids=[role["id"]])
    told = check_of(explain(user, ITEMS), "fields")
    shown = orders.item("orders", name="x", price=1.5)
    seen = set(shown) & set(told["fields"])
    assert "name" in seen and "price" not in seen and "price" not in (told["reason"] or "")
    user_id = user.get("/users/me", expect=200).json()["id"]
    assert "price" in check_of(explain(orders.admin, ITEMS, user_id=user_id), "fields")["reason"]


def test_keys_and_accounts(orders):
    key = orders.key(["svc_users:read"])
    told = explain(key, ITEMS)
    assert told["key_id"] == key.info["id"] and told["status"] == 403
    assert told["reason"] == "The key's own list lacks the permission orders:read."
    assert explain(orders.admin, ITEMS, key_id=key.info["id"])["reason"] == told["reason"]
    assert check_of(explain(key, "/api-keys", "POST"), "user")["passed"] is False
    user = orders.user()
    user_id = user.get("/users/me", expect=200).json()["id"]
    orders.admin.put(f"/users/{user_id}", {"status": "suspended"}, expect=200)
    told = explain(orders.admin, "/users/me", user_id=user_id)
    assert told["status"] == 401 and told["code"] == "token_invalid" and not check_of(told, "account")["passed"]


def test_who_may_ask(orders):
    user, other = orders.user(permissions=["svc_api_keys:create"]), orders.user()
    admin_id = orders.admin.get("/users/me", expect=200).json()["id"]
    for params in ({"user_id": admin_id}, {"user_id": 424242}, {"key_id": 424242}):
        refused = user.get("/permissions/explain", params={"path": "/users", **params}, expect=403)
        assert refused.json()["code"] == "admin_required", "the answer reveals whether the user or key exists"
    key = orders.key([], client=user)
    assert explain(user, "/users", key_id=key.info["id"])["key_id"] == key.info["id"]
    other.get("/permissions/explain", params={"path": "/users", "key_id": key.info["id"]}, expect=403)
    key.get("/permissions/explain", params={"path": "/users", "user_id": admin_id}, expect=403)
    orders.admin.get("/permissions/explain", params={"path": "/users", "user_id": 424242}, expect=404)


def test_paths(orders):
    assert explain(orders.admin, f"/org/{orders.id}/users")["route"] == "users_list"
    assert explain(orders.admin, "/")["route"] == "project_read"
    assert explain(orders.admin, "/entities/nothing/items")["status"] == 404
    assert explain(orders.admin, f"{ITEMS}/x")["status"] == 404
    assert explain(orders.client(token=orders.admin.token), "/search/public")["allowed"]


@pytest.mark.parametrize("params", [
    {}, {"path": ""}, {"path": "users"}, {"path": "/nothing"}, {"path": "/users?limit=1"}, {"path": "/users", "method": "PUT"},
    {"path": "/users", "method": "get"}, {"path": "/users", "user_id": 0}, {"path": "/users", "user_id": "x"},
    {"path": "/users", "user_id": 1, "key_id": 1}, {"path": "/%"}, {"path": "/users/%2F"}, {"path": "/../users"},
    {"path": "/" * 3}, {"path": "/users", "more": 1}, {"path": "/a" * 60},
])
def test_bad_questions(shared_project, params):
    shared_project.admin.get("/permissions/explain", params=params, expect=400)


def test_simulated_roles(orders):
    role = orders.role("Reader", permissions=["orders:read", "svc_users:read"])
    body = {"role_ids": [role["id"]], "entity": "orders"}
    answer = orders.admin.post("/permissions/simulate", body, params={"limit": 500}, expect=200).json()
    found = {(item["method"], item["path"]): item for item in answer["items"]}
    assert found["GET", f"{ITEMS}"]["allowed"] and not found["POST", ITEMS]["allowed"]
    assert found["POST", ITEMS]["refused_by"] == "permission" and found["POST", ITEMS]["needs"] == "orders:create"
    assert found["GET", "/users"]["allowed"] and not found["GET", "/roles"]["allowed"]
    assert found["POST", "/cors/clear-cache"]["refused_by"] == "administrator"
    assert answer["total_items"] == len(answer["items"])
    nobody = orders.admin.post("/permissions/simulate", {"role_ids": []}, params={"limit": 500}, expect=200).json()
    assert not next(item for item in nobody["items"] if item["route"] == "users_list")["allowed"]
    admin = orders.role_named("Admin User")["id"]
    every = orders.admin.post("/permissions/simulate", {"role_ids": [admin]}, params={"limit": 500}, expect=200).json()
    assert all(item["allowed"] for item in every["items"])


@pytest.mark.parametrize("body", [
    {}, {"role_ids": None}, {"role_ids": "1"}, {"role_ids": [0]}, {"role_ids": ["x"]}, {"role_ids": list(range(1, 103))},
    {"role_ids": [], "entity": "nothing"}, {"role_ids": [], "more": 1},
])
def test_bad_simulations(shared_project, body):
    shared_project.admin.post("/permissions/simulate", body, expect=400)


def same_but_for_names(told, *names):
    text = json.dumps(told)
    for name in names:
        text = text.replace(name, "-")
    return text


def test_nobody_else_is_told_what_stands_behind_the_first_check_that_fails(orders):
    """A regression test: a user without permissions on records could learn which records, entities and fields exist."""
    record = orders.item("orders", name="x")["id"]
    for caller in (orders.user_with(), orders.user_with(api_access=False), orders.key([])):
        for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/lock"), ("GET", "/history")):
            there = explain(caller, f"{ITEMS}/{record}{path}", method)
            assert [check["check"] for check in there["checks"]] == ["account", "permission"]
            missing = explain(caller, f"{ITEMS}/424242{path}", method)
            assert same_but_for_names(there, f"/{record}") == same_but_for_names(missing, "/424242")
            nothing = explain(caller, f"/entities/nowhere/items/{record}{path}", method)
            assert same_but_for_names(there, "orders") == same_but_for_names(nothing, "nowhere")
            answer = caller.request(method, f"/entities/nowhere/items/{record}{path}", json={"name": "y"})
            assert (answer.status_code, answer.json()["code"]) == (nothing["status"], nothing["code"])
    user_id = orders.admin.get("/users/me", expect=200).json()["id"]
    nobody = orders.user_with()
    told = explain(orders.admin, f"{ITEMS}/{record}", user_id=nobody.get("/users/me").json()["id"])
    assert [check["check"] for check in told["checks"]] == ["account", "permission", "api_access", "record", "fields"]
    assert "belongs to user" in check_of(told, "record")["reason"] and f"{user_id}" in check_of(told, "record")["reason"]
    key = orders.key(["svc_users:read"])
    assert len(explain(key, f"{ITEMS}/{record}")["checks"]) == 2, "an administrator's key is treated as an administrator"


def test_names_of_entities_are_for_who_may_read_the_model(orders):
    reader, other = orders.user_with("svc_entities:read"), orders.user_with("orders:read")
    for caller, status in ((reader, 404), (other, 403), (orders.admin, 404)):
        assert explain(caller, "/entities/nowhere/items")["status"] == status
        assert caller.get("/entities/nowhere/items").status_code == status


def test_the_object_of_a_route(orders):
    maker = orders.user_with("svc_files:create", "svc_files:read", "svc_files:update", "svc_dashboards:create", "svc_dashboards:update")
    file = maker.put("/files/upload/own.txt", data=b"x", expect=201).json()["id"]
    board = maker.post("/dashboards", {"name": "Own"}, expect=201).json()["id"]
    other = orders.user_with("svc_files:read", "svc_files:update", "svc_dashboards:read", "svc_dashboards:update")
    for method, path in (("GET", f"/files/{file}"), ("GET", f"/files/{file}/get"), ("POST", f"/files/{file}/link"),
                         ("PUT", f"/files/{file}"), ("PUT", f"/dashboards/{board}"), ("POST", f"/dashboards/{board}/widgets")):
        assert explain(maker, path, method)["allowed"], path
        told = explain(other, path, method)
        assert told["status"] == 404 and not check_of(told, "object")["passed"], path
        assert told == explain(orders.admin, path, method, user_id=other.get("/users/me").json()["id"])
    orders.admin.put(f"/dashboards/{board}", {"role_ids": other.get("/users/me").json()["role_ids"]}, expect=200)
    assert explain(other, f"/dashboards/{board}")["allowed"]
    told = explain(other, f"/dashboards/{board}", "PUT")
    assert told["reason"] == other.put(f"/dashboards/{board}", {"name": "y"}, expect=403).json()["detail"] == check_of(told, "object")["reason"]


def test_a_question_changes_nothing(project):
    """Explaining a request to a preview that the first read deletes does not delete the preview."""
    url = project.admin.post("/email-templates/invite/preview", {}, expect=200).json()["url"]
    path = url.partition(f"/org/{project.id}")[2]
    for _ in range(2):
        assert explain(project.admin, path)["allowed"]
    project.client().get(path, expect=200)
    assert explain(project.admin, path)["status"] == 404 == project.client().get(path).status_code
