"""Devices: registration, lists, deletion and owners."""
import json

import pytest
from groundwork.push_keys import subscription
from groundwork.records import codes, execute, ids, rows

DEVICES = "/push/devices"


def register(client, token="token-1", expect=201, **members):
    answer = client.post(DEVICES, {"provider": "fcm", "token": token, **members}, expect=expect)
    return answer.json() if expect == 201 else answer


def device(project, number):
    return project.admin.get(f"{DEVICES}/{number}", expect=200).json()


def test_register(project):
    user = project.user()
    made = register(user, "f81d4fae7dec11d0", metadata={"model": "Pixel"})
    found = device(project, made["id"])
    assert found["user_id"] == user.user["id"] and found["provider"] == "fcm" and found["metadata"] == {"model": "Pixel"}
    assert found["token_preview"] == "f81d4fae..." and found["unregistered_at"] is None
    assert found["owner_entity_name"] is None and found["owner_entity_id"] is None
    assert found["registered_at"] == made["registered_at"]


def test_registering_again(project, db):
    user = project.user()
    made = register(user, metadata={"a": 1})
    table = f"{project.schema(db)}.push_devices"
    execute(db, f"update {table} set unregistered_at = now(), last_seen_at = now() - interval '1 day'")
    before = device(project, made["id"])
    assert before["unregistered_at"]
    assert register(user) == made
    after = device(project, made["id"])
    assert after["unregistered_at"] is None and after["last_seen_at"] > before["last_seen_at"]
    assert after["metadata"] == {"a": 1}
    register(user, metadata={"b": 2})
    assert device(project, made["id"])["metadata"] == {"b": 2}
    register(user, metadata=None)
    assert device(project, made["id"])["metadata"] == {}
    assert rows(db, f"select count(*) from {table}") == [(1,)]


def test_a_token_of_somebody_else(project):
    one, other = project.user(), project.user()
    made = register(one)
    assert register(other, expect=409).json()["code"] == "conflict"
    assert device(project, made["id"])["user_id"] == one.user["id"]
    # A text is a different token at another provider. An administrator can take over a token.
    register(other, subscription(), provider="web_push")
    assert register(project.admin)["id"] == made["id"]
    assert device(project, made["id"])["user_id"] == project.admin.user["id"]
    register(one, expect=409)


def test_devices_of_others(project):
    user, other = project.user(), project.user()
    assert device(project, register(user, user_id=user.user["id"])["id"])["user_id"] == user.user["id"]
    assert register(user, "token-2", expect=403, user_id=other.user["id"]).json()["code"] == "forbidden"
    made = register(project.admin, "token-2", user_id=other.user["id"])
    assert device(project, made["id"])["user_id"] == other.user["id"]
    assert register(project.admin, "token-3", expect=409, user_id=424242).json()["code"] == "foreign_key_violation"


def test_devices_of_records(project):
    project.entity("tables", [{"name": "name", "type": "varchar"}])
    user = project.user()
    table = project.item("tables", name="one")["id"]
    owner = {"owner_entity_name": "tables", "owner_entity_id": table}
    register(user, expect=403, **owner)
    register(user, expect=403, owner_entity_name="tables")
    made = register(project.admin, **owner)
    found = device(project, made["id"])
    assert (found["owner_entity_name"], found["owner_entity_id"], found["user_id"]) == ("tables", table, None)
    register(user, expect=409)
    assert codes(register(project.admin, expect=400, owner_entity_name="tables")) == {"owner_entity_id": "required"}
    assert codes(register(project.admin, expect=400, owner_entity_id=7)) == {"owner_entity_name": "required"}
    assert codes(register(project.admin, expect=400, owner_entity_name="absent", owner_entity_id=7)) == {
        "owner_entity_name": "not_found"}
    both = register(project.admin, "token-2", user_id=user.user["id"], **owner)
    assert device(project, both["id"])["user_id"] == user.user["id"]
    refused = register(project.admin, "token-3", expect=400, owner_entity_name="tables", owner_entity_id=424242)
    assert codes(refused) == {"owner_entity_id": "not_found"}


@pytest.mark.parametrize("way", ["one", "many", "cascade", "entity"])
def test_a_device_goes_with_its_record(project, way):
    """A device is deleted with the record that owns it, unless the device also belongs to a user."""
    project.entity("rooms", [{"name": "name", "type": "varchar"}])
    project.entity("tables", [{"name": "room", "type": "relation", "options": {"entity": "rooms", "on_delete": "cascade"}},
                              {"name": "name", "type": "varchar", "searchable": True}])
    room = project.item("rooms", name="one")["id"]
    gone, stays = project.item("tables", room=room)["id"], project.item("tables")["id"]
    user = project.user()
    first = register(project.admin, "first", owner_entity_name="tables", owner_entity_id=gone)["id"]
    shared = register(project.admin, "shared", owner_entity_name="tables", owner_entity_id=gone, user_id=user.user["id"])["id"]
    other = register(project.admin, "other", owner_entity_name="tables", owner_entity_id=stays)["id"]
    if way == "one":
        project.admin.delete(f"/entities/tables/items/{gone}", expect=204)
    elif way == "many":
        project.admin.delete("/entities/tables/items", json={"ids": [gone]}, expect=200)
    elif way == "cascade":
        project.admin.delete(f"/entities/rooms/items/{room}", expect=204)
    else:
        project.admin.delete("/entities/tables", expect=204)
    project.admin.get(f"{DEVICES}/{first}", expect=404)
    assert device(project, shared)["owner_entity_id"] is None and device(project, shared)["user_id"] == user.user["id"]
    if way != "entity":
        assert device(project, other)["owner_entity_id"] == stays


@pytest.mark.parametrize("body", [
    {}, {"provider": "fcm"}, {"token": "x"}, {"provider": "apns", "token": "x"}, {"provider": "FCM", "token": "x"},
    {"provider": "fcm", "token": ""}, {"provider": "fcm", "token": "a b"}, {"provider": "fcm", "token": "a\nb"},
    {"provider": "fcm", "token": "x" * 4097}, {"provider": "fcm", "token": 5}, {"provider": "fcm", "token": "x", "metadata": []},
    {"provider": "fcm", "token": "x", "metadata": {"a": "x" * 5000}}, {"provider": "fcm", "token": "x", "more": 1},
    {"provider": "web_push", "token": "x"}, {"provider": "web_push", "token": "{}"},
    {"provider": "web_push", "token": subscription(endpoint="file:///etc/passwd")},
    {"provider": "web_push", "token": subscription(endpoint="https://u:p@example.org/")},
    {"provider": "web_push", "token": subscription(p256dh="AAAA")}, {"provider": "web_push", "token": subscription(auth="AAAA")}])
def test_what_is_no_device(shared_project, body):
    shared_project.admin.post(DEVICES, body, expect=400)


def test_subscriptions_are_known_by_their_endpoint(project, db):
    user = project.user()
    first = register(user, subscription("https://push.example.net/s/1"), provider="web_push")
    again = register(user, subscription("https://push.example.net/s/1"), provider="web_push")
    other = register(user, subscription("https://push.example.net/s/2"), provider="web_push")
    assert first["id"] == again["id"] != other["id"]
    assert device(project, first["id"])["token_preview"] == "https://push.example.net/..."
    (token,), = rows(db, f"select token from {project.schema(db)}.push_devices where id = %s", first["id"])
    assert json.loads(token)["endpoint"] == "https://push.example.net/s/1"


def test_lists(project, db):
    project.entity("tables", [{"name": "name", "type": "varchar"}])
    table = project.item("tables", name="one")["id"]
    one, other = project.user(), project.user()
    made = [register(one, f"one-{n}")["id"] for n in range(3)]
    made += [register(other, "other")["id"], register(other, subscription(), provider="web_push")["id"]]
    made += [register(project.admin, "table", owner_entity_name="tables", owner_entity_id=table)["id"]]
    execute(db, f"update {project.schema(db)}.push_devices set unregistered_at = now() where id = %s", made[0])

    def listed(**params):
        return ids(project.admin.get(DEVICES, params=params))

    assert listed() == made[::-1] and listed(order="asc") == made
    assert listed(provider="web_push") == [made[4]] and listed(user_id=one.user["id"], order="asc") == made[:3]
    assert listed(live="false") == [made[0]] and listed(live="true", user_id=one.user["id"], order="asc") == made[1:3]
    assert listed(owner_entity_name="tables") == [made[5]] == listed(owner_entity_name="tables", owner_entity_id=table)
    assert listed(owner_entity_name="tables", owner_entity_id=table + 1) == [] == listed(owner_entity_name="absent")
    page = project.admin.get(DEVICES, params={"limit": 2, "page": 2}, expect=200).json()
    assert [item["id"] for item in page["items"]] == made[3:1:-1] and page["total_items"] == 6 and page["has_next_page"]
    walked, cursor = [], "start"
    while cursor:
        answer = project.admin.get(DEVICES, params={"limit": 4, "cursor": cursor}, expect=200).json()
        walked += [item["id"] for item in answer["items"]]
        cursor = answer["next_cursor"]
    assert walked == made[::-1]
    for query in ("provider=apns", "user_id=x", "live=maybe", "token=x"):
        project.admin.get(f"{DEVICES}?{query}", expect=400)
    # No answer shows a token.
    assert "other" not in project.admin.get(DEVICES, params={"provider": "web_push"}).text


def test_the_callers_own(project):
    one, other = project.user(), project.user()
    mine, theirs = register(one, "one")["id"], register(other, "other")["id"]
    assert ids(one.get(f"{DEVICES}/my")) == [mine] and ids(other.get(f"{DEVICES}/my")) == [theirs]
    assert ids(project.admin.get(f"{DEVICES}/my")) == []
    one.delete(f"{DEVICES}/my/{theirs}", expect=404)
    one.delete(f"{DEVICES}/my/{mine}", expect=204)
    one.delete(f"{DEVICES}/my/{mine}", expect=404)
    assert ids(project.admin.get(DEVICES)) == [theirs]
    register(other, "one")


def test_who_may(project):
    user, key = project.user(), project.key([])
    made = register(user)["id"]
    for caller, status in ((user, 403), (key, 403), (project.client(), 401)):
        caller.get(DEVICES, expect=status)
        caller.get(f"{DEVICES}/{made}", expect=status)
        caller.delete(f"{DEVICES}/{made}", expect=status)
    for caller in (key, project.client()):
        assert caller.post(DEVICES, {"provider": "fcm", "token": "x"}).status_code in (401, 403)
        assert caller.get(f"{DEVICES}/my").status_code in (401, 403)
    lacking = project.user_with("svc_files:read")
    register(lacking, expect=403)
    project.admin.delete(f"{DEVICES}/{made}", expect=204)
    project.admin.get(f"{DEVICES}/{made}", expect=404)
    project.admin.delete(f"{DEVICES}/{made}", expect=404)


def test_a_users_devices_go_with_the_user(project):
    user = project.user()
    register(user)
    project.admin.delete(f"/users/{user.user['id']}", expect=204)
    assert ids(project.admin.get(DEVICES)) == []
