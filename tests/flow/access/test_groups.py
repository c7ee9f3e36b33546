"""/groups and their members."""
import pytest

from groundwork.soon import await_status


def make(client, name="Support", **body):
    return client.post("/groups", {"name": name, **body}, expect=201).json()


def test_create_read_update_delete(project):
    admin = project.admin
    role = project.role()["id"]
    answer = admin.post("/groups", {"name": "Support", "description": "Helps", "role_ids": [role]}, expect=201)
    group = answer.json()
    assert answer.headers["Location"].endswith(f"/groups/{group['id']}")
    assert group["role_ids"] == [role] and group["member_count"] == 0
    assert admin.get(f"/groups/{group['id']}", expect=200).json() == group
    changed = admin.put(f"/groups/{group['id']}", {"description": None}, expect=200).json()
    assert changed["name"] == "Support" and changed["description"] is None and changed["role_ids"] == [role]
    assert admin.put(f"/groups/{group['id']}", {"role_ids": []}, expect=200).json()["role_ids"] == []
    admin.delete(f"/groups/{group['id']}", expect=204)
    for call in (admin.get, admin.delete):
        call(f"/groups/{group['id']}", expect=404)
    admin.put(f"/groups/{group['id']}", {"name": "x"}, expect=404)


def test_names_are_unique(project):
    make(project.admin)
    refused = project.admin.post("/groups", {"name": "Support"}, expect=409)
    assert refused.json()["errors"][0]["field"] == "name"
    other = make(project.admin, "Sales")
    project.admin.put(f"/groups/{other['id']}", {"name": "Support"}, expect=409)


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": "x" * 101}, {"name": 3}, {"name": "g", "role_ids": [0]},
                                  {"name": "g", "role_ids": [424242]}, {"name": "g", "role_ids": "1"},
                                  {"name": "g", "member_count": 3}, {"name": "g", "id": 1}])
def test_bad_bodies(shared_project, body):
    shared_project.admin.post("/groups", body, expect=400)


def test_members(project):
    admin = project.admin
    group = make(admin)
    one, two = project.user(), project.user()
    ids = [one.user["id"], two.user["id"]]
    assert admin.post(f"/groups/{group['id']}/members", {"user_ids": ids}, expect=200).json()["member_count"] == 2
    again = admin.post(f"/groups/{group['id']}/members", {"user_ids": ids[:1] * 3}, expect=200)
    assert again.json()["member_count"] == 2
    members = admin.get(f"/groups/{group['id']}/members", expect=200).json()["items"]
    assert [member["user_id"] for member in members] == ids
    assert admin.get(f"/users/{ids[0]}").json()["group_ids"] == [group["id"]]
    admin.delete(f"/groups/{group['id']}/members/{ids[0]}", expect=204)
    admin.delete(f"/groups/{group['id']}/members/{ids[0]}", expect=404)
    admin.post(f"/groups/{group['id']}/members", {"user_ids": [424242]}, expect=400)
    admin.post(f"/groups/{group['id']}/members", {"user_ids": []}, expect=400)
    for path in ("/groups/424242/members", "/groups/0/members", "/groups/x/members"):
        admin.get(path, expect=404)
        admin.post(path, {"user_ids": ids}, expect=404)
    project.admin.delete(f"/users/{ids[1]}", expect=204)
    assert admin.get(f"/groups/{group['id']}").json()["member_count"] == 0


def test_my_groups(project):
    user = project.user_with("svc_groups:read")
    mine, other = make(project.admin, "Mine"), make(project.admin, "Other")
    project.admin.post(f"/groups/{mine['id']}/members", {"user_ids": [user.user["id"]]}, expect=200)
    assert [group["id"] for group in user.get("/groups/my", expect=200).json()["items"]] == [mine["id"]]
    assert user.get("/groups", expect=200).json()["total_items"] == 2
    user.put(f"/groups/{other['id']}", {"name": "x"}, expect=403)
    user.post(f"/groups/{other['id']}/members", {"user_ids": [user.user["id"]]}, expect=403)


def test_group_scope_needs_the_permission_and_the_group(project):
    project.entity("orders")
    member = project.user(entities=["orders"])
    item = project.item("orders", client=member, name="of a member")
    role = project.role(permissions=["orders:read", "svc_group_data:read"])["id"]
    reader = project.user(role_ids=[role])
    group = make(project.admin, role_ids=[role])
    stranger = make(project.admin, "Stranger")
    project.admin.post(f"/groups/{group['id']}/members", {"user_ids": [member.user["id"]]}, expect=200)
    scope = {"X-Group-Id": str(group["id"])}
    path = "/entities/orders/items"
    assert reader.get(path, expect=200).json()["total_items"] == 0
    assert await_status(lambda: reader.get(path, headers=scope), 200).json()["items"][0]["id"] == item["id"]
    reader.get(f"{path}/{item['id']}", headers=scope, expect=200)
    reader.get(f"{path}/{item['id']}", expect=404)
    reader.get(path, headers={"X-Group-Id": str(stranger["id"])}, expect=403)
    reader.get(path, headers={"X-Group-Id": "424242"}, expect=403)
    for wrong in ("x", "-1", "0", "1;2", "9" * 30):
        reader.get(path, headers={"X-Group-Id": wrong}, expect=400)
    member.get(path, headers=scope, expect=403)
    project.admin.put(f"/groups/{group['id']}", {"role_ids": []}, expect=200)
    await_status(lambda: reader.get(path, headers=scope), 403)


# --- a caller gives only rights that it holds ---


@pytest.fixture
def granted_record(project):
    """A record that only the administrator and members of a group see."""
    project.entity("orders")
    item = project.item("orders", name="hidden")
    group = make(project.admin, "Insiders")
    grants = {"items": [{"group_id": group["id"], "can_update": True, "can_delete": False}]}
    project.admin.put(f"/entities/orders/items/{item['id']}/rls-groups", grants, expect=200)
    return item, f"/groups/{group['id']}", group["id"]


def add(client, path, *users, expect=200):
    return client.post(f"{path}/members", {"user_ids": [user.user["id"] for user in users]}, expect=expect)


def test_who_does_not_see_what_a_group_gives_adds_nobody(project, granted_record):
    item, group, _ = granted_record
    manager = project.user_with("svc_groups:update", "orders:read")
    friend = project.user_with("orders:read")
    seen = f"/entities/orders/items/{item['id']}"
    for users in ((manager,), (friend,), (manager, friend)):
        assert add(manager, group, *users, expect=403).json()["code"] == "forbidden"
    manager.get(seen, expect=404)
    add(project.admin, group, manager)
    await_status(lambda: manager.get(seen), 200)
    add(manager, group, friend)
    await_status(lambda: friend.get(seen), 200)


def test_a_key_adds_to_a_group_that_gives_records_when_its_creator_is_a_member(project, granted_record):
    """An administrator's key cannot grant records, so it adds a member to such a group only if its creator is a member."""
    _, group, _ = granted_record
    manager = project.user_with("svc_groups:update", "svc_api_keys:create")
    of_manager, of_admin = project.key(["svc_groups:update"], client=manager), project.key(["svc_groups:update"])
    for key in (of_manager, of_admin):
        add(key, group, manager, expect=403)
    add(project.admin, group, project.admin)
    add(of_admin, group, manager)


def test_records_of_members_are_given_by_who_sees_them(project):
    """svc_group_data:read gives access to records of a group's members. A caller without access to these records cannot add
    itself or another user to the group, give the group one of its own roles, or add the group's members to its own group."""
    project.entity("orders")
    victim = project.user(entities=["orders"])
    item = project.item("orders", client=victim, name="of the victim")
    team = make(project.admin, "Team")
    add(project.admin, f"/groups/{team['id']}", victim)
    role = project.role(permissions=["svc_groups:create", "svc_groups:update", "svc_group_data:read", "orders:read"])
    reader = project.user(role_ids=[role["id"]])
    blind = project.user_with("svc_groups:create", "svc_groups:update")
    for client in (reader, blind):
        add(client, f"/groups/{team['id']}", reader, expect=403)
        client.put(f"/groups/{team['id']}", {"role_ids": [role["id"]]}, expect=403)
        own = make(client, f"Trap of {client.user['id']}")
        add(client, f"/groups/{own['id']}", reader)
        add(client, f"/groups/{own['id']}", victim, expect=403)
        both = make(client, f"Both of {client.user['id']}")
        add(client, f"/groups/{both['id']}", reader, victim, expect=403)
        named = make(client, f"Named by {client.user['id']}", role_ids=[role["id"]])
        add(client, f"/groups/{named['id']}", victim, expect=403)
        for group in (team, own, both, named):
            answer = reader.get(f"/entities/orders/items/{item['id']}", headers={"X-Group-Id": str(group["id"])})
            assert answer.status_code in (403, 404)
    add(project.admin, f"/groups/{team['id']}", reader)
    await_status(lambda: reader.get(f"/entities/orders/items/{item['id']}", headers={"X-Group-Id": str(team["id"])}), 200)
    add(reader, f"/groups/{own['id']}", reader)
    mine = make(reader, "What it sees already")
    add(reader, f"/groups/{mine['id']}", reader, victim)


def test_a_group_that_opens_nothing_is_anybodys(project):
    manager, colleague = project.user_with("svc_groups:create", "svc_groups:update"), project.user()
    group = make(manager)
    add(manager, f"/groups/{group['id']}", colleague, manager)
    manager.put(f"/groups/{group['id']}", {"name": "Renamed", "role_ids": []}, expect=200)


def test_a_role_that_records_were_granted_to_is_given_by_its_holders(project, granted_record):
    item, _, _ = granted_record
    role = project.role(permissions=["orders:read"])
    grants = {"items": [{"role_id": role["id"], "can_update": False, "can_delete": False}]}
    project.admin.put(f"/entities/orders/items/{item['id']}/rls-groups", grants, expect=200)
    base = project.role(permissions=["svc_users:create", "svc_users:update", "svc_roles:update", "orders:read"])["id"]
    manager = project.user(role_ids=[base])
    me, seen = f"/users/{manager.user['id']}", f"/entities/orders/items/{item['id']}"
    manager.put(me, {"role_ids": [base, role["id"]]}, expect=403)
    manager.post("/users", {"email": "friend@example.org", "role_ids": [role["id"]]}, expect=403)
    manager.put(f"/roles/{role['id']}", {"description": "mine"}, expect=403)
    manager.get(seen, expect=404)
    project.admin.put(me, {"role_ids": [base, role["id"]]}, expect=200)
    await_status(lambda: manager.get(seen), 200)
    manager.post("/users", {"email": "friend@example.org", "role_ids": [role["id"]]}, expect=201)
