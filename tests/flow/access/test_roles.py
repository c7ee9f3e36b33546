"""/roles: the rights of role holders, down to fields; a caller cannot give more rights than it holds."""
import pytest

from groundwork.project import PASSWORD
from groundwork.soon import await_status


def codes(response):
    return {(error["field"], error["code"]) for error in response.json().get("errors", [])}


def test_create_read_update_delete(project):
    admin = project.admin
    project.entity("orders")
    answer = admin.post("/roles", {
        "name": "Editor", "description": "Edits", "api_access": True,
        "permissions": ["orders:read", "orders:update", "svc_files:read", "orders:read"],
        "field_access": [{"entity": "orders", "action": "update", "fields": ["price", "name"]}],
    }, expect=201)
    role = answer.json()
    assert answer.headers["Location"].endswith(f"/roles/{role['id']}")
    assert role["permissions"] == ["orders:read", "orders:update", "svc_files:read"]
    assert role["field_access"] == [{"entity": "orders", "action": "update", "fields": ["name", "price"]}]
    assert not role["is_admin"] and not role["is_default"] and role["api_access"]
    assert admin.get(f"/roles/{role['id']}", expect=200).json() == role
    merged = admin.put(f"/roles/{role['id']}", {"description": None, "permissions": ["orders:read"]}, expect=200).json()
    assert merged["description"] is None and merged["name"] == "Editor" and merged["permissions"] == ["orders:read"]
    assert merged["field_access"] == role["field_access"]
    admin.delete(f"/roles/{role['id']}", expect=204)
    admin.get(f"/roles/{role['id']}", expect=404)
    admin.put(f"/roles/{role['id']}", {"name": "x"}, expect=404)
    admin.delete(f"/roles/{role['id']}", expect=404)


def test_names_are_unique(project):
    project.role("Editor")
    refused = project.admin.post("/roles", {"name": "Editor"}, expect=409)
    assert refused.json()["code"] == "unique_violation" and codes(refused) == {("name", "unique_violation")}
    other = project.role("Reader")
    project.admin.put(f"/roles/{other['id']}", {"name": "Editor"}, expect=409)


@pytest.mark.parametrize("body", [
    {}, {"name": ""}, {"name": "x" * 101}, {"name": None}, {"name": 1},
    {"name": "r", "permissions": ["svc_users:fly"]}, {"name": "r", "permissions": ["nothing:read"]},
    {"name": "r", "permissions": ["*"]}, {"name": "r", "permissions": ["SVC_USERS:READ"]},
    {"name": "r", "permissions": [":"]}, {"name": "r", "permissions": [""]}, {"name": "r", "permissions": [1]},
    {"name": "r", "permissions": "svc_users:read"}, {"name": "r", "permissions": ["svc_users:read "]},
    {"name": "r", "permissions": ["svc_users:trigger"]}, {"name": "r", "permissions": ["x" * 100000]},
    {"name": "r", "is_admin": "yes"}, {"name": "r", "id": 1}, {"name": "r", "is_default": True},
    {"name": "r", "field_access": [{"entity": "nothing", "action": "read", "fields": []}]},
    {"name": "r", "field_access": [{"entity": "nothing", "action": "delete", "fields": []}]},
    {"name": "r", "field_access": {}}, {"name": "r", "field_access": [None]},
])
def test_bad_bodies(shared_project, body):
    shared_project.admin.post("/roles", body, expect=400)


def test_field_rules_name_real_fields(project):
    project.entity("orders")
    for rule in ({"entity": "orders", "action": "read", "fields": ["nope"]},
                 {"entity": "orders", "action": "read", "fields": ["id"]},
                 {"entity": "orders", "action": "update", "fields": ["created_at"]},
                 {"entity": "orders", "action": "read"}):
        project.admin.post("/roles", {"name": "r", "field_access": [rule]}, expect=400)


def test_a_role_in_use_stays(project):
    role = project.role()
    user = project.user(role_ids=[role["id"]])
    assert project.admin.delete(f"/roles/{role['id']}", expect=409).json()["code"] == "in_use"
    project.admin.put(f"/users/{user.user['id']}", {"role_ids": []}, expect=200)
    project.admin.delete(f"/roles/{role['id']}", expect=204)


def test_the_last_administrator_role_keeps_its_power(project):
    role = project.role_named("Admin User")["id"]
    refused = project.admin.put(f"/roles/{role}", {"is_admin": False}, expect=409)
    assert refused.json()["code"] == "last_administrator"
    project.admin.delete(f"/roles/{role}", expect=409)
    second = project.role("Second", is_admin=True)["id"]
    project.admin.put(f"/users/{project.admin.user['id']}", {"role_ids": [role, second]}, expect=200)
    project.admin.put(f"/roles/{role}", {"is_admin": False}, expect=200)
    project.admin.put(f"/roles/{second}", {"is_admin": False}, expect=409)


# --- a caller gives only rights that it holds (A5) ---


@pytest.fixture
def manager(project):
    """A user who may change roles, and otherwise holds only orders:read for one field."""
    project.entity("orders")
    project.limited = project.role(
        permissions=["svc_roles:read", "svc_roles:create", "svc_roles:update", "svc_roles:delete", "orders:read"],
        field_access=[{"entity": "orders", "action": "read", "fields": ["name"]}])
    return project.user(role_ids=[project.limited["id"]])


def test_a5_new_roles_hold_no_more_than_their_maker(project, manager):
    for body in ({"permissions": ["svc_users:read"]}, {"permissions": ["orders:update"]}, {"is_admin": True},
                 {"permissions": ["svc_roles:read", "svc_audit_log:read"]},
                 {"permissions": ["orders:read"]},
                 {"permissions": ["orders:read"],
                  "field_access": [{"entity": "orders", "action": "read", "fields": ["name", "price"]}]}):
        assert manager.post("/roles", {"name": "mine", **body}).status_code in (400, 403), body
    assert "mine" not in [role["name"] for role in project.admin.get("/roles").json()["items"]]
    manager.post("/roles", {"name": "mine", "permissions": ["orders:read", "svc_roles:read"],
                            "field_access": [{"entity": "orders", "action": "read", "fields": ["name"]}]}, expect=201)


def test_a5_nobody_raises_its_own_role(project, manager):
    before = project.admin.get(f"/roles/{project.limited['id']}").json()
    for body in ({"permissions": before["permissions"] + ["svc_users:update"]}, {"is_admin": True},
                 {"field_access": []},
                 {"field_access": [{"entity": "orders", "action": "update", "fields": ["name"]}]},
                 {"permissions": before["permissions"], "field_access": []},
                 {"field_access": [{"entity": "orders", "action": "read", "fields": ["name", "amount"]}]}):
        assert manager.put(f"/roles/{before['id']}", body).status_code in (400, 403), body
    after = project.admin.get(f"/roles/{before['id']}").json()
    assert after["permissions"] == before["permissions"] and after["field_access"] == before["field_access"]
    assert not after["is_admin"]


def test_a5_roles_above_the_caller_are_out_of_reach(project, manager):
    for role in (project.role_named("Admin User"), project.role_named("Standard User"),
                 project.role(permissions=["svc_users:read"])):
        manager.put(f"/roles/{role['id']}", {"description": "mine"}, expect=403)
        manager.delete(f"/roles/{role['id']}", expect=403)


def test_a5_api_access_is_given_only_by_those_who_have_it(project):
    maker = project.user_with("svc_roles:read", "svc_roles:create", "svc_roles:update", api_access=False)
    maker.post("/roles", {"name": "open", "api_access": True}, expect=403)
    maker.put(f"/roles/{maker.user['role_ids'][0]}", {"api_access": True}, expect=403)
    maker.post("/roles", {"name": "shut", "api_access": False}, expect=201)


def test_a5_losing_a_permission_ends_giving_it(project):
    maker = project.user_with("svc_roles:create", "svc_roles:read", "svc_files:read")
    maker.post("/roles", {"name": "a", "permissions": ["svc_files:read"]}, expect=201)
    role = maker.user["role_ids"][0]
    project.admin.put(f"/roles/{role}", {"permissions": ["svc_roles:create"]}, expect=200)
    await_status(lambda: maker.get("/roles"), 403)
    maker.post("/roles", {"name": "b", "permissions": ["svc_files:read"]}, expect=403)


# --- permissions of roles ---


def test_roles_add_up(project):
    project.entity("orders")
    one = project.role(permissions=["orders:read"], api_access=False)["id"]
    two = project.role(permissions=["svc_files:read"], api_access=True)["id"]
    both = project.user(role_ids=[one, two])
    both.get("/entities/orders/items", expect=200)
    only_one = project.user(role_ids=[one])
    refused = only_one.get("/entities/orders/items", expect=403)
    assert refused.json()["code"] == "api_access_disabled"
    assert project.user(role_ids=[two]).get("/entities/orders/items", expect=403).json()["code"] == "forbidden"


def test_administrators_need_no_permission_rows(project):
    project.entity("orders")
    other = project.administrator()
    other.get("/entities/orders/items", expect=200)
    other.get("/permissions", expect=200)
    other.get("/users", expect=200)


def test_an_added_default_permission_that_was_removed_stays_removed(project):
    standard = project.role_named("Standard User")
    kept = [name for name in standard["permissions"] if name != "svc_files:delete"]
    project.admin.put(f"/roles/{standard['id']}", {"permissions": kept}, expect=200)
    assert project.role_named("Standard User")["permissions"] == kept


def test_users_without_roles_do_nothing(project):
    nobody = project.user(role_ids=[])
    nobody.get("/users/me", expect=200)
    for path in ("/users", "/roles", "/entities", "/permissions", "/groups", "/api-keys", "/audit-log"):
        nobody.get(path, expect=403)
    assert project.client().sign_in(nobody.user["email"], PASSWORD).user["role_ids"] == []


def test_an_administrator_role_holds_nothing_else(project):
    project.entity("orders", [{"name": "total", "type": "integer"}])
    admin, path = project.admin, f"/roles/{project.role_named('Admin User')['id']}"
    rule = [{"entity": "orders", "action": "read", "fields": ["total"]}]

    def refused(method, where, body, field):
        errors = getattr(admin, method)(where, body, expect=400).json()["errors"]
        assert [(error["field"], error["code"]) for error in errors] == [(field, "validation_failed")], body

    refused("put", path, {"permissions": ["svc_users:read"]}, "permissions")
    refused("put", path, {"field_access": rule}, "field_access")
    refused("post", "/roles", {"name": "Chiefs", "is_admin": True, "permissions": ["orders:read"]}, "permissions")
    stored = admin.get(path, expect=200).json()
    assert stored["permissions"] == [] == stored["field_access"]
    sent = {name: stored[name] for name in ("name", "description", "is_admin", "api_access", "permissions", "field_access")}
    admin.put(path, sent, expect=200)
    clerk = f"/roles/{project.role(permissions=['orders:read'], field_access=rule)['id']}"
    refused("put", clerk, {"is_admin": True}, "permissions")
    refused("put", clerk, {"is_admin": True, "permissions": []}, "field_access")
    assert admin.put(clerk, {"is_admin": True, "permissions": [], "field_access": []}, expect=200).json()["is_admin"]
