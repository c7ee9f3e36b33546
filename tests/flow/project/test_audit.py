"""/audit-log: administrative changes, who made them, and never a secret."""
from groundwork.project import PASSWORD


def entries(project):
    return project.admin.get("/audit-log", params={"limit": 500}, expect=200).json()["items"]


def test_changes_are_noted_newest_first(project):
    admin = project.admin
    role = admin.post("/roles", {"name": "r"}, expect=201).json()
    user = admin.post("/users", {"email": "a@example.org", "password": PASSWORD}, expect=201)
    admin.put(f"/users/{user.json()['id']}", {"status": "suspended"}, expect=200)
    admin.delete(f"/users/{user.json()['id']}", expect=204)
    group = admin.post("/groups", {"name": "g"}, expect=201).json()
    admin.delete(f"/groups/{group['id']}", expect=204)
    project.entity("orders")
    admin.delete("/entities/orders", expect=204)
    admin.put("/", {"name": "Renamed"}, expect=200)
    found = entries(project)
    assert [entry["action"] for entry in found][:9] == [
        "project.update", "entities.delete", "entities.create", "groups.delete", "groups.create", "users.delete",
        "users.update", "users.create", "roles.create"]
    assert [entry["id"] for entry in found] == sorted((entry["id"] for entry in found), reverse=True)
    made = next(entry for entry in found if entry["action"] == "users.create")
    assert made["actor_kind"] == "user" and made["actor_id"] == admin.user["id"]
    assert made["target"] == "user" and made["target_id"] == str(user.json()["id"])
    assert made["request_id"] == user.headers["X-Request-Id"]
    assert next(entry for entry in found if entry["action"] == "roles.create")["target_id"] == str(role["id"])


def test_a_key_is_named_as_the_actor(project):
    key = project.key(["svc_groups:create"])
    key.post("/groups", {"name": "g"}, expect=201)
    entry = entries(project)[0]
    assert entry["action"] == "groups.create" and entry["actor_kind"] == "api_key"


def test_one_entry_is_read_as_the_list_shows_it(project):
    project.admin.put("/", {"name": "Renamed"}, expect=200)
    for entry in entries(project)[:3]:
        assert project.admin.get(f"/audit-log/{entry['id']}", expect=200).json() == entry
    path = f"/audit-log/{entries(project)[0]['id']}"
    project.user_with("svc_audit_log:read").get(path, expect=200)
    project.user().get(path, expect=403)
    for missing in (424242, 0, -1, "x", 2 ** 63):
        project.admin.get(f"/audit-log/{missing}", expect=404)
    for call in (project.admin.delete, project.admin.put, project.admin.post):
        assert call(path).status_code == 405


def test_what_failed_is_not_noted(project):
    before = len(entries(project))
    admin = project.admin
    admin.post("/roles", {"name": "Admin User"}, expect=409)
    admin.delete(f"/users/{admin.user['id']}", expect=409)
    admin.put(f"/users/{admin.user['id']}", {"status": "suspended"}, expect=409)
    admin.post("/groups", {"name": "g", "role_ids": [424242]}, expect=400)
    admin.post("/users", {"email": "bad"}, expect=400)
    project.user().post("/roles", {"name": "r"}, expect=403)
    actions = [entry["action"] for entry in entries(project)][: len(entries(project)) - before]
    assert actions == ["users.create"]


def test_no_secret_is_in_it(project):
    key = project.key(["svc_files:read"])
    project.admin.put(f"/users/{project.admin.user['id']}", {"password": PASSWORD}, expect=200)
    text = project.client().sign_in("admin@example.org", PASSWORD).get("/audit-log", expect=200).text
    assert PASSWORD not in text and key.key not in text and "argon2" not in text


def test_a_walk_sees_each_entry_once(project):
    for n in range(7):
        project.admin.post("/groups", {"name": f"g{n}"}, expect=201)
    every = [entry["id"] for entry in entries(project)]
    seen, cursor = [], "start"
    while cursor:
        page = project.admin.get("/audit-log", params={"cursor": cursor, "limit": 3}, expect=200).json()
        seen += [entry["id"] for entry in page["items"]]
        cursor = page["next_cursor"]
        assert page["has_next_page"] == bool(cursor) and page["total_items"] == -1
    assert seen == every
    oldest = project.admin.get("/audit-log", params={"sort": "id", "limit": 500}, expect=200).json()
    assert [entry["id"] for entry in oldest["items"]] == every[::-1] and oldest["total_items"] == len(every)
    by_time = project.admin.get("/audit-log", params={"sort": "at", "limit": 500}, expect=200).json()
    assert by_time["items"] == oldest["items"]
    for wrong in ({"cursor": "nonsense"}, {"sort": "created_at"}, {"sort": "action"}):
        project.admin.get("/audit-log", params=wrong, expect=400)


def test_permission_and_method(project):
    project.user().get("/audit-log", expect=403)
    project.user_with("svc_audit_log:read").get("/audit-log", expect=200)
    for call in (project.admin.delete, project.admin.put, project.admin.post):
        assert call("/audit-log").status_code == 405


def test_entries_of_one_thing_or_one_actor(project):
    admin = project.admin
    one = admin.post("/groups", {"name": "one"}, expect=201).json()["id"]
    two = admin.post("/groups", {"name": "two"}, expect=201).json()["id"]
    since = entries(project)[0]["at"]
    other = project.administrator()
    other.put(f"/groups/{one}", {"name": "uno"}, expect=200)

    def found(**params):
        answer = admin.get("/audit-log", params={"limit": 500, **params}, expect=200).json()
        assert answer["total_items"] == len(answer["items"])
        return [(entry["action"], entry["target_id"]) for entry in answer["items"]]

    assert found(target=f"group/{one}") == [("groups.update", str(one)), ("groups.create", str(one))]
    assert found(target="group", order="asc")[:2] == [("groups.create", str(one)), ("groups.create", str(two))]
    assert found(actor=other.user["id"]) == [("groups.update", str(one))]
    assert found(action="groups.update") == [("groups.update", str(one))]
    assert found(since=since, target="group") == [("groups.update", str(one)), ("groups.create", str(two))]
    assert found(until=since, target="group") == [("groups.create", str(one))] and found(since=since, until=since) == []
    assert found(kind="api_key") == [] and found(kind="user", target=f"group/{two}") == [("groups.create", str(two))]
    assert found(target="group/") == [] and found(actor=424242) == []
    for params in ({"actor": "x"}, {"actor": 0}, {"kind": "nobody"}, {"since": "yesterday"}, {"since": ""}, {"who": 1}):
        admin.get("/audit-log", params=params, expect=400)


def test_the_detail_says_what_changed(project):
    """An entry shows old and new values of settings that decide on access and visibility; secrets, personal texts and values of
    records appear by name only."""
    admin = project.admin
    project.entity("orders", [{"name": "name", "type": "varchar"}])
    role = project.role(permissions=["orders:read"])
    user = project.user(email="ann@example.org")
    group = admin.post("/groups", {"name": "g"}, expect=201).json()
    board = admin.post("/dashboards", {"name": "d"}, expect=201).json()
    admin.post("/materialized-views", {"name": "v", "entity": "orders", "aggregates": [{"function": "count"}]}, expect=201)
    one, path = user.user["id"], "/entities/orders"
    confirmed = admin.get(f"/users/{one}", expect=200).json()["email_confirmed_at"]
    changes = [
        ("put", path, {"row_level_security": False, "public_read": True}, "entities.update",
         {"changed": ["row_level_security", "public_read"], "from": {"row_level_security": True, "public_read": False},
          "to": {"row_level_security": False, "public_read": True}}),
        ("put", f"{path}/fields/name", {"public": True, "default": "hidden"}, "fields.update",
         {"changed": ["default", "public"], "from": {"public": False}, "to": {"public": True}}),
        ("put", f"/roles/{role['id']}", {"permissions": []}, "roles.update",
         {"changed": ["permissions"], "from": {"permissions": ["orders:read"]}, "to": {"permissions": []}}),
        ("put", f"/users/{one}", {"role_ids": [role["id"]], "password": PASSWORD, "email": "bob@example.org"}, "users.update",
         {"changed": ["email", "email_confirmed_at", "role_ids", "password"],
          "from": {"role_ids": user.user["role_ids"], "email_confirmed_at": confirmed},
          "to": {"role_ids": [role["id"]], "email_confirmed_at": None}}),
        ("put", f"/groups/{group['id']}", {"role_ids": [role["id"]]}, "groups.update",
         {"changed": ["role_ids"], "from": {"role_ids": []}, "to": {"role_ids": [role["id"]]}}),
        ("put", f"/user-profiles/{one}", {"locale": "en-GB", "display_name": "Ann"}, "user_profiles.update",
         {"changed": ["display_name", "locale"], "from": {"locale": None}, "to": {"locale": "en-GB"}}),
        ("put", f"/dashboards/{board['id']}", {"role_ids": [role["id"]]}, "dashboards.update",
         {"changed": ["role_ids"], "from": {"role_ids": []}, "to": {"role_ids": [role["id"]]}}),
        ("put", "/materialized-views/v", {"role_ids": [role["id"]], "group_by": [{"field": "name"}]}, "views.update",
         {"changed": ["role_ids", "group_by"], "from": {"role_ids": []}, "to": {"role_ids": [role["id"]]}}),
    ]
    for method, where, body, action, detail in changes:
        getattr(admin, method)(where, body, expect=200)
        entry = entries(project)[0]
        assert entry["action"] == action
        assert {**entry["detail"], "changed": sorted(entry["detail"]["changed"])} == {**detail, "changed": sorted(detail["changed"])}
    admin.post(f"/groups/{group['id']}/members", {"user_ids": [one]}, expect=200)
    assert entries(project)[0]["detail"] == {"user_ids": [one]}
    admin.delete(f"/groups/{group['id']}/members/{one}", expect=204)
    assert entries(project)[0]["detail"] == {"user_ids": [one]}
    project.key(["orders:read"])
    assert entries(project)[0]["detail"] == {"permissions": ["orders:read"]}
    text = str(entries(project))
    assert PASSWORD not in text and "bob@" not in text and "hidden" not in text


def test_a_change_of_nothing_has_no_detail(project):
    project.entity("orders")
    project.admin.put("/entities/orders", {"row_level_security": True}, expect=200)
    assert entries(project)[0]["detail"] == {}
