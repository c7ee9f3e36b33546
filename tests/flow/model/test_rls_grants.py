"""Grants of records: who may set them, what they contain, and that they are deleted with their grantee or record."""
import pytest

from groundwork.soon import await_status
from test_entities import NAME, codes, insert


def whole(items):
    """Returns the body of a list that has one page."""
    return {"items": items, "total_items": len(items), "page": 1, "page_size": max(1, len(items)), "has_next_page": False}


@pytest.fixture
def project(empty_project):
    return empty_project


@pytest.fixture
def record(project, db):
    """The path of one record."""
    entity = project.entity("notes", [NAME])
    return f"/entities/notes/items/{insert(db, project, entity, name='a')}"


def test_users(project, record):
    ids = sorted(project.user().user["id"] for _ in range(2))
    path = record + "/rls-users"
    assert project.admin.get(path, expect=200).json() == whole([])
    items = [
        {"user_id": ids[0], "can_update": True, "can_delete": False},
        {"user_id": ids[1], "can_update": False, "can_delete": False},
    ]
    sent = [items[0], {"user_id": ids[1]}]
    assert project.admin.put(path, {"items": sent}, expect=200).json() == whole(items)
    assert project.admin.get(path, expect=200).json() == whole(items)
    project.admin.put(path, {"items": items[1:]}, expect=200)
    assert project.admin.get(path, expect=200).json() == whole(items[1:])
    project.admin.delete(path, expect=204)
    assert project.admin.get(path, expect=200).json() == whole([])
    project.admin.delete(path, expect=204)


def test_groups_and_roles(project, record):
    group = project.admin.post("/groups", {"name": "Team"}, expect=201).json()["id"]
    role = project.role()["id"]
    path = record + "/rls-groups"
    items = [
        {"group_id": group, "role_id": None, "can_update": True, "can_delete": True},
        {"group_id": None, "role_id": role, "can_update": False, "can_delete": False},
    ]
    assert project.admin.put(path, {"items": [*reversed(items)]}, expect=200).json() == whole(items)
    assert project.admin.put(path, project.admin.get(path).json(), expect=200).json() == whole(items)
    user = project.user().user["id"]
    project.admin.put(record + "/rls-users", {"items": [{"user_id": user}]}, expect=200)
    project.admin.delete(path, expect=204)
    assert project.admin.get(path, expect=200).json() == whole([])
    assert len(project.admin.get(record + "/rls-users", expect=200).json()["items"]) == 1


def test_a_deleted_grantee_leaves_no_grant(project, record):
    """The grants of a record do not name deleted users, groups and roles, so the list can be sent back as it was read."""
    group = project.admin.post("/groups", {"name": "Others"}, expect=201).json()["id"]
    role = project.role()["id"]
    user = project.user().user["id"]
    project.admin.put(record + "/rls-groups", {"items": [{"group_id": group}, {"role_id": role}]}, expect=200)
    project.admin.put(record + "/rls-users", {"items": [{"user_id": user}]}, expect=200)
    for path in (f"/groups/{group}", f"/roles/{role}", f"/users/{user}"):
        project.admin.delete(path, expect=204)
    for kind in ("users", "groups"):
        assert project.admin.get(f"{record}/rls-{kind}", expect=200).json() == whole([])


@pytest.mark.parametrize(
    "kind, body, field, code",
    [
        ("users", {"items": [{"user_id": 999999}]}, "items[0].user_id", "foreign_key_violation"),
        ("users", {"items": [{"user_id": -1}]}, "items[0].user_id", "foreign_key_violation"),
        ("users", {"items": [{"user_id": "8"}]}, "items[0].user_id", "type_mismatch"),
        ("users", {"items": [{"user_id": None}]}, "items[0].user_id", "type_mismatch"),
        ("users", {"items": [{"group_id": 1}]}, "items[0].group_id", "unknown_field"),
        ("users", {"items": [{"user_id": 1}, {"user_id": 1}]}, "items[1]", "unique_violation"),
        ("users", {"items": [{"user_id": 1}] * 1001}, "items", "too_long"),
        ("users", {}, "items", "required"),
        ("users", [{"user_id": 1}], "", "type_mismatch"),
        ("groups", {"items": [{"group_id": 999999}]}, "items[0].group_id", "foreign_key_violation"),
        ("groups", {"items": [{"role_id": 999999}]}, "items[0].role_id", "foreign_key_violation"),
        ("groups", {"items": [{"role_id": 1, "group_id": 1}]}, "items[0]", "required"),
        ("groups", {"items": [{}]}, "items[0]", "required"),
        ("groups", {"items": [{"user_id": 1}]}, "items[0].user_id", "unknown_field"),
    ],
)
def test_bodies_that_make_no_sense(project, record, kind, body, field, code):
    response = project.admin.put(f"{record}/rls-{kind}", body, expect=400)
    assert codes(response).get(field) == code, response.text


@pytest.mark.parametrize("kind", ["users", "groups"])
@pytest.mark.parametrize("path", ["/entities/notes/items/999999", "/entities/notes/items/x", "/entities/absent/items/1"])
def test_records_that_do_not_exist(project, record, path, kind):
    project.admin.get(f"{path}/rls-{kind}", expect=404)
    project.admin.put(f"{path}/rls-{kind}", {"items": []}, expect=404)
    project.admin.delete(f"{path}/rls-{kind}", expect=404)


@pytest.mark.parametrize("kind", ["users", "groups"])
def test_only_administrators(project, record, kind):
    user = project.user(entities=["notes"])
    key = project.key(["notes:read", "notes:update"])
    for caller in (user, key):
        caller.get(f"{record}/rls-{kind}", expect=403)
        caller.put(f"{record}/rls-{kind}", {"items": []}, expect=403)
        caller.delete(f"{record}/rls-{kind}", expect=403)
    project.client().get(f"{record}/rls-{kind}", expect=401)


def test_a_refused_replacement_keeps_what_was(project, record):
    user = project.user().user["id"]
    path = record + "/rls-users"
    project.admin.put(path, {"items": [{"user_id": user}]}, expect=200)
    project.admin.put(path, {"items": [{"user_id": 999999}]}, expect=400)
    assert [item["user_id"] for item in project.admin.get(path).json()["items"]] == [user]


def test_a_grant_opens_the_record(project, record):
    user = project.user(entities=["notes"])
    user.get(record, expect=404)
    path = record + "/rls-users"
    project.admin.put(path, {"items": [{"user_id": user.user["id"], "can_update": False}]}, expect=200)
    await_status(lambda: user.get(record), 200)  # an entity's first grant reaches the other worker within a second
    assert user.put(record, {"name": "b"}).status_code in (403, 404)
    project.admin.put(path, {"items": [{"user_id": user.user["id"], "can_update": True}]}, expect=200)
    user.put(record, {"name": "b"}, expect=200)
    assert user.delete(record).status_code in (403, 404)
    project.admin.delete(path, expect=204)
    user.get(record, expect=404)


def test_changes_are_audited(project, record):
    project.admin.put(record + "/rls-users", {"items": []}, expect=200)
    item = project.admin.get("/audit-log", params={"sort": "-id", "limit": 1}, expect=200).json()["items"][0]
    assert item["action"] == "rls_users.update" and item["target_id"] == record.split("/")[-1]
