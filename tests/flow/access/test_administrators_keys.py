"""An administrator's API key reads all rows and fields, and otherwise has only its own permissions (A20)."""
import pytest


def refused(answer):
    assert answer.status_code == 403 and answer.json()["code"] == "admin_required", answer.text


@pytest.fixture
def letters(project):
    project.entity("letters", [{"name": "text", "type": "varchar", "public": True}, {"name": "note", "type": "varchar"}])
    project.item("letters", text="of the administrator", note="x")
    return "/entities/letters"


@pytest.mark.parametrize("change", [{"row_level_security": False}, {"public_read": True}])
def test_a_key_opens_no_entity(project, letters, change):
    for permissions in (["svc_entities:update"], ["svc_entities:update", "letters:read", "letters:update"]):
        key = project.key(permissions)
        refused(key.put(letters, change))
        refused(key.put(letters, change, params={"dry_run": "true"}))
        key.put(letters, {"label": "Letters"}, expect=200)
    project.admin.put(letters, change, expect=200)


def test_a_key_makes_no_field_public(project, letters):
    project.admin.put(letters, {"public_read": True}, expect=200)
    key = project.key(["svc_fields:update", "letters:read"])
    refused(key.put(letters + "/fields/note", {"public": True}))
    key.put(letters + "/fields/note", {"indexed": True}, expect=200)
    project.admin.put(letters + "/fields/note", {"public": True}, expect=200)


def test_a_key_learns_nothing_of_records_by_changing_the_model(project, letters):
    blind = project.key(["svc_fields:update", "svc_fields:create", "svc_entities:delete"])
    seeing = project.key(["svc_fields:update", "letters:read"])
    project.item("letters", text="without a note")
    must = {"required": True}
    for params in ({}, {"dry_run": "true"}):
        assert blind.put(letters + "/fields/note", must, params=params, expect=403).json()["code"] == "forbidden"
    assert seeing.put(letters + "/fields/note", must, expect=409).json()["detail"].startswith("1 record has")
    asked = blind.post(letters + "/fields", {"name": "must", "type": "text", "required": True}, expect=409).json()
    assert asked["detail"].startswith("Some records have no value")


def test_a_key_reads_back_no_field_of_an_entity_that_it_may_not_read(project, letters):
    """A key that may only create or change records gets the same answer as a user with these permissions."""
    item = project.item("letters", text="hidden text", note="hidden note")["id"]
    user = project.user_with("svc_api_keys:create", "letters:create", "letters:update")
    project.admin.put(letters, {"row_level_security": False}, expect=200)
    for permissions in (["letters:create"], ["letters:update"]):
        key = project.key(permissions)
        made = {"text": "new"}
        answers = [client.post(letters + "/items", made) if permissions == ["letters:create"] else
                   client.put(f"{letters}/items/{item}", made) for client in (user, key)]
        assert answers[0].status_code == answers[1].status_code, [answer.text for answer in answers]
        assert set(answers[0].json()) == set(answers[1].json())
        assert "hidden note" not in answers[1].text


def test_a_key_grants_no_records(project, letters):
    """Only holders of a role or group to which records were granted, and administrators, may give the role or group to others."""
    item = project.admin.get(letters + "/items", expect=200).json()["items"][0]["id"]
    role = project.role(permissions=["letters:read"])["id"]
    group = project.admin.post("/groups", {"name": "Insiders"}, expect=201).json()["id"]
    grants = [{name: value, "can_update": False, "can_delete": False} for name, value in (("role_id", role), ("group_id", group))]
    project.admin.put(f"{letters}/items/{item}/rls-groups", {"items": grants}, expect=200)
    friend = project.user_with("letters:read")
    key = project.key(["svc_groups:update", "svc_users:update", "svc_users:create", "svc_roles:update", "letters:read"])
    key.post(f"/groups/{group}/members", {"user_ids": [friend.user["id"]]}, expect=403)
    key.put(f"/groups/{group}", {"role_ids": [role]}, expect=200)
    key.put(f"/users/{friend.user['id']}", {"role_ids": [role]}, expect=403)
    key.post("/users", {"email": "spy@example.org", "role_ids": [role]}, expect=403)
    refused(key.put(f"{letters}/items/{item}/rls-users", {"items": []}))
    friend.get(f"{letters}/items/{item}", expect=404)
    project.admin.post(f"/groups/{group}/members", {"user_ids": [friend.user["id"]]}, expect=200)
    key.put(f"/groups/{group}", {"role_ids": []}, expect=200)
    key.put(f"/groups/{group}", {"role_ids": [role]}, expect=403)


def test_a_key_sees_and_changes_no_dashboard_of_others(project):
    other = project.user()
    theirs = other.post("/dashboards", {"name": "Private"}, expect=201).json()["id"]
    key = project.key(["svc_dashboards:read", "svc_dashboards:update", "svc_dashboards:delete"])
    mine = project.admin.post("/dashboards", {"name": "Mine"}, expect=201).json()["id"]
    assert [item["id"] for item in key.get("/dashboards", expect=200).json()["items"]] == [mine]
    key.get(f"/dashboards/{theirs}", expect=404)
    key.put(f"/dashboards/{theirs}", {"name": "Taken"}, expect=404)
    key.delete(f"/dashboards/{theirs}", expect=404)
    key.put(f"/dashboards/{mine}", {"name": "Ours"}, expect=200)
    project.admin.put(f"/dashboards/{theirs}", {"name": "Looked at"}, expect=200)
