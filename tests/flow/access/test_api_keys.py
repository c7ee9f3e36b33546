"""/api-keys: credentials for servers, which never have more rights than their creator (A6, A7)."""
import datetime

import pytest

from groundwork.soon import await_status


def test_create_list_delete(project):
    answer = project.admin.post("/api-keys", {
        "name": "Sync", "permissions": ["svc_files:read", "svc_roles:read", "svc_files:read"], "expires_in_days": 30,
    }, expect=201)
    made = answer.json()
    assert made["key"].startswith("ak_") and len(made["key"]) > 40 and made["key"].startswith(made["prefix"])
    assert made["permissions"] == ["svc_files:read", "svc_roles:read"] and made["dropped_permissions"] == []
    end = datetime.datetime.fromisoformat(made["expires_at"].replace("Z", "+00:00"))
    days = (end - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / 86400
    assert 29.9 < days < 30.1
    listed = project.admin.get("/api-keys", expect=200)
    assert made["key"] not in listed.text, "shown once"
    item = listed.json()["items"][0]
    assert item["user_id"] == project.admin.user["id"] and item["prefix"] == made["prefix"]
    key = project.client(key=made["key"])
    key.get("/roles", expect=200)
    key.get("/users", expect=403)
    project.admin.delete(f"/api-keys/{made['id']}", expect=204)
    await_status(lambda: key.get("/roles"), 401)
    project.admin.delete(f"/api-keys/{made['id']}", expect=404)


def test_the_key_is_stored_hashed(project, db):
    made = project.key(["svc_files:read"]).info
    with db.cursor() as cursor:
        cursor.execute(f"select k.*, encode(k.hash, 'hex') from {project.schema(db)}.api_keys k")
        stored = " ".join(str(value) for row in cursor.fetchall() for value in row)
    assert made["key"] not in stored and made["key"][10:] not in stored


@pytest.mark.parametrize("body", [
    {}, {"name": "k"}, {"name": "", "permissions": []}, {"name": "k", "permissions": None},
    {"name": "k", "permissions": [], "expires_in_days": 0}, {"name": "k", "permissions": [], "expires_in_days": -1},
    {"name": "k", "permissions": [], "expires_in_days": 3651}, {"name": "k", "permissions": [], "expires_in_days": 1.5},
    {"name": "k", "permissions": [], "expires_in_days": 2**62}, {"name": "k", "permissions": [], "user_id": 1},
    {"name": "k", "permissions": [], "key": "ak_mine"}, {"name": "k", "permissions": [[]]},
    {"name": "k", "permissions": ["x"] * 5001},
])
def test_bad_bodies(shared_project, body):
    shared_project.admin.post("/api-keys", body, expect=400)


def test_a6_what_the_creator_does_not_hold_is_dropped(project):
    project.entity("orders")
    creator = project.user_with("svc_api_keys:create", "svc_files:read", "orders:read")
    wanted = ["svc_files:read", "svc_files:create", "orders:read", "orders:delete", "*", "SVC_FILES:READ", "orders:*",
              "svc_users:read", "nothing:read", "", "svc_files:read"]
    key = project.key(wanted, client=creator)
    assert key.info["permissions"] == ["svc_files:read", "orders:read"]
    assert set(key.info["dropped_permissions"]) == set(wanted) - {"svc_files:read", "orders:read"}
    key.get("/entities/orders/items", expect=200)
    key.delete("/entities/orders/items/1", expect=403)
    key.get("/users", expect=403)


def test_a6_a_key_makes_no_keys(project):
    """A key created by another key could be used after its creator has ended."""
    creator = project.user_with("svc_api_keys:create", "svc_api_keys:read", "svc_roles:read")
    for client in (creator, project.admin):
        parent = project.key(["svc_api_keys:create", "svc_api_keys:read", "svc_roles:read"], client=client)
        body = {"name": "child", "permissions": ["svc_roles:read"], "expires_in_days": 3650}
        assert parent.post("/api-keys", body, expect=403).json()["code"] == "forbidden"
    names = [item["name"] for item in project.admin.get("/api-keys", expect=200).json()["items"]]
    assert "child" not in names


def test_who_deletes_which_key(project):
    """A user deletes its own keys, an administrator all keys, and a key only itself."""
    cleaner = project.user_with("svc_api_keys:create", "svc_api_keys:delete", "svc_roles:read")
    theirs = project.key(["svc_roles:read"])
    mine, other = (project.key(["svc_roles:read"], client=cleaner) for _ in range(2))
    assert cleaner.delete(f"/api-keys/{theirs.info['id']}", expect=403).json()["code"] == "forbidden"
    theirs.get("/roles", expect=200)
    cleaner.delete(f"/api-keys/{mine.info['id']}", expect=204)
    cleaner.delete(f"/api-keys/{mine.info['id']}", expect=404)
    project.admin.delete(f"/api-keys/{other.info['id']}", expect=204)
    sweeper = project.key(["svc_api_keys:delete"])
    sweeper.delete(f"/api-keys/{theirs.info['id']}", expect=403)
    sweeper.delete(f"/api-keys/{sweeper.info['id']}", expect=204)
    project.admin.delete(f"/api-keys/{theirs.info['id']}", expect=204)


def test_a6_an_administrators_key_is_no_administrator(project):
    everything = [item["name"] for item in project.admin.get("/permissions", params={"limit": 500}).json()["items"]]
    key = project.key(everything)
    assert key.info["dropped_permissions"] == []
    assert key.put("/", {"name": "Mine"}, expect=403).json()["code"] == "admin_required"
    key.post("/roles", {"name": "r", "is_admin": True}, expect=403)
    key.post("/users", {"email": "x@example.org", "role_ids": [project.role_named("Admin User")["id"]]}, expect=403)
    key.put(f"/users/{project.admin.user['id']}", {"password": "a new long password"}, expect=403)
    key.delete(f"/users/{project.admin.user['id']}", expect=403)


def test_a_key_loses_what_its_creator_loses(project):
    project.entity("orders")
    role = project.role(permissions=["svc_api_keys:create", "orders:read", "svc_roles:read"])
    creator = project.user(role_ids=[role["id"]])
    key = project.key(["orders:read", "svc_roles:read"], client=creator)
    key.get("/entities/orders/items", expect=200)
    project.admin.put(f"/roles/{role['id']}", {"permissions": ["svc_api_keys:create", "svc_roles:read"]}, expect=200)
    await_status(lambda: key.get("/entities/orders/items"), 403)
    key.get("/roles", expect=200)
    project.admin.put(f"/roles/{role['id']}", {"permissions": ["orders:read", "svc_roles:read"]}, expect=200)
    await_status(lambda: key.get("/entities/orders/items"), 200)
    project.admin.put(f"/roles/{role['id']}", {"api_access": False}, expect=200)
    await_status(lambda: key.get("/entities/orders/items"), 403)


def test_a_key_gains_nothing_its_list_lacks(project):
    role = project.role(permissions=["svc_api_keys:create", "svc_roles:read"])
    creator = project.user(role_ids=[role["id"]])
    key = project.key(["svc_roles:read", "svc_users:read"], client=creator)
    project.admin.put(f"/roles/{role['id']}", {"permissions": ["svc_roles:read", "svc_users:read"]}, expect=200)
    await_status(lambda: creator.get("/users"), 200)
    key.get("/roles", expect=200)
    key.get("/users", expect=403)


def test_row_rules_apply_to_a_key_as_to_its_creator(project):
    project.entity("orders")
    maker = project.user(permissions=["svc_api_keys:create"], entities=["orders"])
    key = project.key(["orders:read"], client=maker)
    mine = project.item("orders", client=maker, name="mine")
    project.item("orders", name="hidden")
    seen = key.get("/entities/orders/items", expect=200).json()
    assert [item["id"] for item in seen["items"]] == [mine["id"]] and seen["total_items"] == 1


def test_field_rules_apply_to_a_key_as_to_its_creator(project):
    project.entity("orders", row_level_security=False)
    role = project.role(permissions=["orders:read", "svc_api_keys:create"],
                        field_access=[{"entity": "orders", "action": "read", "fields": ["name"]}])
    key = project.key(["orders:read"], client=project.user(role_ids=[role["id"]]))
    project.item("orders", name="a", price=7.5)
    item = key.get("/entities/orders/items", expect=200).json()["items"][0]
    assert item["name"] == "a" and "price" not in item
    key.get("/entities/orders/items", params={"filter[price]": "7.5"}, expect=400)


# --- sending keys (A7) ---


def test_a7_a_key_in_either_header(project):
    key = project.key(["svc_roles:read"]).key
    plain = project.client()
    plain.get("/roles", headers={"x-api-key": key}, expect=200)
    plain.get("/roles", headers={"Authorization": f"Bearer {key}"}, expect=200)
    plain.get("/roles", headers={"Authorization": f"bearer {key}", "x-api-key": key}, expect=200)


def test_a7_two_identities_are_refused(project):
    key, other = project.key(["svc_roles:read"]).key, project.key(["svc_roles:read"]).key
    plain = project.client()
    for headers in ({"Authorization": f"Bearer {project.admin.token}", "x-api-key": key},
                    {"Authorization": f"Bearer {other}", "x-api-key": key},
                    {"Authorization": f"Bearer {key}", "x-api-key": project.admin.token}):
        plain.get("/roles", headers=headers, expect=400)


@pytest.mark.parametrize("value", ["", "ak_", "ak_" + "x" * 40, "AK_abc", "ak_" + "x" * 500, "Bearer x", "null", "ak_%00",
                                   "ak_' or 1=1 --"])
def test_keys_that_are_none(shared_project, value):
    plain = shared_project.client()
    assert plain.get("/roles", headers={"x-api-key": value}).status_code == 401
    assert plain.get("/roles", headers={"Authorization": f"Bearer {value}"}).status_code == 401


def test_a_key_in_the_query_or_a_cookie_is_nothing(project):
    key = project.key(["svc_roles:read"]).key
    plain = project.client()
    for options in ({"params": {"x-api-key": key}}, {"params": {"api_key": key}}, {"params": {"access_token": key}},
                    {"headers": {"Cookie": f"x-api-key={key}; token={project.admin.token}"}},
                    {"headers": {"X-User-Id": "1", "X-Forwarded-User": "admin@example.org"}}):
        plain.get("/roles", expect=401, **options)


def test_an_expired_key_is_refused(project, db):
    key = project.key(["svc_roles:read"])
    with db.cursor() as cursor:
        cursor.execute(f"update {project.schema(db)}.api_keys set expires_at = now() - interval '1 second' where id = %s",
                       (key.info["id"],))
    assert key.get("/roles", expect=401).json()["code"] == "token_expired"


def test_last_use_is_noted(project):
    key = project.key(["svc_roles:read"])
    key.get("/roles", expect=200)
    item = next(item for item in project.admin.get("/api-keys").json()["items"] if item["id"] == key.info["id"])
    assert item["last_used_at"]


def test_one_is_read_where_its_location_says(project):
    answer = project.admin.post("/api-keys", {"name": "reader", "permissions": ["svc_users:read"]}, expect=201)
    path = answer.headers["Location"].removeprefix(f"/org/{project.id}")
    one = project.admin.get(path, expect=200).json()
    assert one == next(item for item in project.admin.get("/api-keys", expect=200).json()["items"] if item["id"] == one["id"])
    assert answer.json()["key"] not in str(one) and one["permissions"] == ["svc_users:read"]
    project.user().get(path, expect=403)
    project.admin.get("/api-keys/424242", expect=404)


def rotate(project, key, body=None):
    made = project.admin.post(f"/api-keys/{key.info['id']}/rotate", body, expect=200).json()
    return made, project.client(key=made["key"])


def test_a_rotated_key_has_a_new_value_and_the_old_one_ends(project):
    old = project.key(["svc_roles:read"])
    old.get("/roles", expect=200)
    made, new = rotate(project, old)
    assert made["id"] == old.info["id"] and made["key"] != old.key and made["expires_at"] == old.info["expires_at"]
    new.get("/roles", expect=200)
    new.get("/users", expect=403)
    await_status(lambda: old.get("/roles"), 401)
    listed = next(item for item in project.admin.get("/api-keys").json()["items"] if item["id"] == made["id"])
    assert listed["prefix"] == made["prefix"] == made["key"][:10]


def test_the_old_value_works_for_its_grace(project, db):
    old = project.key(["svc_roles:read"])
    made, new = rotate(project, old, {"grace_seconds": 3600})
    assert made["former_ends_at"] > made["created_at"]
    old.get("/roles", expect=200)
    new.get("/roles", expect=200)
    _, newest = rotate(project, old, {"grace_seconds": 3600})
    for client in (old, new, newest):
        client.get("/roles", expect=200)
    with db.cursor() as cursor:
        cursor.execute(f"select count(*), bool_or(hash = sha256(%s)) from {project.schema(db)}.api_key_former",
                       (newest.key.encode(),))
        assert cursor.fetchone() == (2, False)
    _, last = rotate(project, old, {"expires_in_days": 7})
    for client in (old, new, newest):
        await_status(lambda: client.get("/roles"), 401)
    last.get("/roles", expect=200)
    project.admin.delete(f"/api-keys/{old.info['id']}", expect=204)
    await_status(lambda: last.get("/roles"), 401)


def test_a_former_value_ends_by_the_clock(project):
    old = project.key(["svc_roles:read"])
    old.get("/roles", expect=200)
    rotate(project, old, {"grace_seconds": 1})
    await_status(lambda: old.get("/roles"), 401)


def test_who_rotates(project, db):
    maker = project.user(permissions=["svc_api_keys:create", "svc_api_keys:update"])
    key = project.key([], client=maker)
    path = f"/api-keys/{key.info['id']}/rotate"
    project.admin.post(path, expect=403)
    project.user(permissions=["svc_api_keys:update"]).post(path, expect=403)
    project.user().post(path, expect=403)
    project.key(["svc_api_keys:update"]).post(path, expect=403)
    project.admin.post("/api-keys/424242/rotate", expect=404)
    for body in ({"grace_seconds": -1}, {"grace_seconds": 2592001}, {"grace_seconds": "1"}, {"more": 1}, {"expires_in_days": 0}):
        maker.post(path, body, expect=400)
    with db.cursor() as cursor:
        cursor.execute(f"update {project.schema(db)}.api_keys set expires_at = now() where id = %s", (key.info["id"],))
    maker.post(path, expect=409)
    new = maker.post(path, {"expires_in_days": 1}, expect=200).json()
    project.client(key=new["key"]).get("/users/me", expect=200)
