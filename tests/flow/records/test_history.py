"""History of records, an option of the entity: who changed what, deleted records, and restoring them."""
import threading

import pytest
from groundwork.records import execute, rows
from groundwork.soon import await_status

ITEMS = "/entities/notes/items"
FIELDS = [
    {"name": "title", "type": "varchar", "required": True},
    {"name": "price", "type": "decimal"},
    {"name": "due", "type": "datetime"},
    {"name": "data", "type": "json"},
    {"name": "pin", "type": "secret"},
    {"name": "code", "type": "varchar", "unique": True},
]


@pytest.fixture(scope="module")
def kept(shared_project):
    """(project, client of a user with all rights on the entities)"""
    shared_project.entity("labels", [{"name": "label", "type": "varchar"}])
    shared_project.entity("notes", [*FIELDS, {"name": "tags", "type": "relation", "options": {"entity": "labels", "many": True}},
                                    {"name": "main", "type": "relation", "options": {"entity": "labels", "on_delete": "set_null"}}],
                          history=True, history_days=30)
    return shared_project, shared_project.user(entities=["notes", "labels"])


def history(client, record, expect=200, **params):
    answer = client.get(f"{ITEMS}/{record['id']}/history", params=params, expect=expect).json()
    return answer["items"] if expect == 200 else answer


def deleted_records(client, **params):
    return client.get(f"{ITEMS}/deleted", params={"limit": 100, **params}, expect=200).json()["items"]


def restore(client, record, version, expect=200):
    return client.post(f"{ITEMS}/{record['id']}/history/{version}/restore", expect=expect).json()


def without_fields(record, *names):
    return {name: value for name, value in record.items() if name not in ("pin", *names)}


def test_who_changed_what(kept):
    project, user = kept
    admin = project.admin
    one, two = (project.item("labels", client=user, label=label)["id"] for label in ("one", "two"))
    first = project.item("notes", client=user, title="a", price=1.50, due="2026-01-31T12:00:00.250Z", data={"k": [1, None]},
                         pin="1234", tags=[two, one])
    path = f"{ITEMS}/{first['id']}"
    second = admin.put(path, {"title": "b", "pin": "4321"}, expect=200).json()
    third = user.put(path, {"price": None, "tags": [one], "main": two}, expect=200).json()
    found = history(user, first)
    assert [(each["version"], each["action"], each["by"], each["changed"]) for each in found] == [
        (3, "updated", user.user["id"], ["price", "tags", "main"]), (2, "updated", admin.user["id"], ["title"]),
        (1, "created", user.user["id"], [])]
    assert [each["record"] for each in found] == [without_fields(each) for each in (third, second, first)]
    assert found[-1]["at"] == first["created_at"] and found[1]["at"] >= second["updated_at"]
    assert "pin" not in found[0]["record"], "history never has a secret"
    pages = [history(user, first, page=page, limit=1) for page in (1, 2, 3)]
    assert sum(pages, []) == found
    answer = user.get(f"{path}/history", params={"limit": 2}, expect=200).json()
    assert (answer["total_items"], answer["has_next_page"]) == (3, True)
    # A deletion that removes a reference makes a version of the referring record.
    user.delete(f"/entities/labels/items/{two}", expect=204)
    newest = history(user, first)[0]
    assert (newest["version"], newest["changed"], newest["record"]["main"]) == (4, ["main"], None)
    assert newest["by"] == user.user["id"]
    assert history(user, first)[-1]["record"]["tags"] == [one], "links to what the caller cannot see are left out"
    assert history(admin, first)[-1]["record"]["tags"] == [two, one]


def test_back_to_a_version(kept):
    project, user = kept
    label = project.item("labels", client=user, label="x")["id"]
    first = project.item("notes", client=user, title="a", price=1.5, data={"k": 1}, pin="1234", tags=[label], code="back-1")
    path = f"{ITEMS}/{first['id']}"
    user.put(path, {"title": "b", "price": 2, "data": None, "tags": [], "code": None, "pin": "9999"}, expect=200)
    back = restore(user, first, 1)
    assert without_fields(back, "updated_at") == without_fields(first, "updated_at") and back["pin"] == "********"
    assert [(each["version"], each["action"]) for each in history(user, first)] == [(3, "updated"), (2, "updated"), (1, "created")]
    assert restore(user, first, 3) == back, "restoring the present version changes nothing"
    for version in (4, 99):
        restore(user, first, version, expect=404)
    # The refusal names the field whose old value no longer fits.
    other = project.item("notes", client=user, title="o", code=None)
    user.put(path, {"code": None}, expect=200)
    user.put(f"{ITEMS}/{other['id']}", {"code": "back-1"}, expect=200)
    assert restore(user, first, 1, expect=409)["errors"][0]["field"] == "code"
    token = project.admin.post(f"{path}/lock", {}, expect=200).json()["lock_token"]
    restore(user, first, 2, expect=423)
    project.admin.delete(f"{path}/lock", headers={"X-Lock-Token": token}, expect=204)


def test_deleted_records_and_back(kept):
    project, user = kept
    label = project.item("labels", client=user, label="x")["id"]
    mine = project.item("notes", client=user, title="mine", price=3, tags=[label], pin="1234")
    path = f"{ITEMS}/{mine['id']}"
    changed = user.put(path, {"title": "mine 2"}, expect=200).json()
    others = project.item("notes", title="others")
    project.admin.post(f"{ITEMS}/delete-many", {"ids": [mine["id"], others["id"]]}, expect=200)
    assert [(each["id"], each["version"], each["deleted_by"]) for each in deleted_records(project.admin)[:2]] in (
        [(mine["id"], 2, project.admin.user["id"]), (others["id"], 1, project.admin.user["id"])],
        [(others["id"], 1, project.admin.user["id"]), (mine["id"], 2, project.admin.user["id"])])
    seen = [each for each in deleted_records(user) if each["id"] in (mine["id"], others["id"])]
    assert [(each["id"], each["record"]) for each in seen] == [(mine["id"], without_fields(changed))], "the user sees only its own record"
    history(user, others, expect=404)
    restore(user, others, 1, expect=404)
    found = history(user, mine)
    assert [(each["version"], each["action"], each["record"] is None) for each in found] == [
        (3, "deleted", True), (2, "updated", False), (1, "created", False)]
    reader = project.user_with("notes:read", "notes:update")
    history(reader, mine, expect=404)
    assert deleted_records(reader) == []
    restore(user, mine, 3, expect=404)
    back = restore(user, mine, 2)
    assert without_fields(back, "updated_at") == without_fields(changed, "updated_at") and back["pin"] is None
    assert user.get(path, expect=200).json() == back
    assert mine["id"] not in [each["id"] for each in deleted_records(project.admin)]
    assert [(each["version"], each["action"]) for each in history(user, mine)][:2] == [(4, "restored"), (3, "deleted")]
    # A record that was deleted again is restored to its first version: history shows the restore and an update after it.
    user.delete(path, expect=204)
    key = project.key(["notes:read", "notes:update"])
    assert "notes:create" in restore(key, mine, 1, expect=403)["detail"]
    first = restore(user, mine, 1)
    assert first["title"] == "mine" and first["tags"] == [label]
    assert [(each["version"], each["action"]) for each in history(user, mine)] == [
        (7, "updated"), (6, "restored"), (5, "deleted"), (4, "restored"), (3, "deleted"), (2, "updated"), (1, "created")]
    sums = [history(user, mine, page=page, limit=3) for page in (1, 2, 3)]
    assert sum(sums, []) == history(user, mine)


def test_rights_of_now_hold_for_the_past(kept):
    project, user = kept
    record = project.item("notes", title="open", price=7)
    path = f"{ITEMS}/{record['id']}"
    project.admin.put(path, {"price": 8, "title": "open 2"}, expect=200)
    narrow = project.user_with("notes:read", "notes:update", field_access=[
        {"entity": "notes", "action": "read", "fields": ["title"]}, {"entity": "notes", "action": "update", "fields": ["title"]}])
    history(narrow, record, expect=404)
    project.admin.put(f"{path}/rls-users", {"items": [{"user_id": narrow.user["id"], "can_update": False}]}, expect=200)
    await_status(lambda: narrow.get(f"{path}/history"), 200)
    found = history(narrow, record)
    assert [each["changed"] for each in found] == [["title"], []]
    assert all("price" not in each["record"] for each in found)
    restore(narrow, record, 1, expect=403)
    project.admin.put(f"{path}/rls-users", {"items": [{"user_id": narrow.user["id"], "can_update": True}]}, expect=200)
    assert restore(narrow, record, 1)["title"] == "open"
    assert project.admin.get(path, expect=200).json()["price"] == 8, "a field that the caller may not write stays"
    key = project.key(["notes:read"], client=project.admin)
    assert key.get(f"{path}/history", expect=200).json()["items"][0]["by"] == narrow.user["id"]
    key.post(f"{path}/history/1/restore", expect=403)


# Changes after which a deleted record cannot be restored because of a field that the restoring caller may not read.
AGAINST = {
    "unique": lambda admin, old: admin.post("/entities/files/items", {"name": "twin", "code": "hidden-code"}, expect=201),
    "relation": lambda admin, old: admin.delete(f"/entities/shelves/items/{old['shelf']}", expect=204),
    "required": lambda admin, old: admin.put("/entities/files/fields/note", {"required": True}, expect=200),
}


@pytest.mark.parametrize("reason", AGAINST)
def test_a_restore_tells_nothing_of_a_field_that_the_caller_may_not_read(project, reason):
    """The answer is the same for every field and every reason why its value cannot be restored."""
    project.entity("shelves", [{"name": "label", "type": "varchar"}])
    project.entity("files", [
        {"name": "name", "type": "varchar"}, {"name": "code", "type": "varchar", "unique": True}, {"name": "level", "type": "integer"},
        {"name": "note", "type": "varchar"}, {"name": "shelf", "type": "relation", "options": {"entity": "shelves"}}],
        history=True, row_level_security=False)
    rules = [{"entity": "files", "action": action, "fields": ["name"]} for action in ("read", "create", "update")]
    user = project.user_with("files:read", "files:create", "files:update", field_access=rules)
    shelf = project.item("shelves", label="a")["id"]
    old = project.item("files", name="a", code="hidden-code", level=5, shelf=shelf)
    path = f"/entities/files/items/{old['id']}"
    project.admin.delete(path, expect=204)
    AGAINST[reason](project.admin, old)
    refused = user.post(f"{path}/history/1/restore", expect=409).json()
    assert refused["code"] == "conflict" and "errors" not in refused, refused
    assert refused["detail"] == "The record cannot be stored as it is; ask an administrator."
    told = project.admin.post(f"{path}/history/1/restore").json()
    assert told["errors"], "an administrator sees the field"


def test_all_writers_are_in_it(kept):
    project, user = kept
    items = [{"title": f"w{n}", "code": f"w{n}"} for n in range(3)]
    made = user.post(f"{ITEMS}/bulk", {"items": items}, expect=201).json()["results"]
    for _ in range(2):
        user.post(f"{ITEMS}/bulk", {"mode": "upsert", "on_conflict": ["code"], "items": items}, expect=201)
    for each in made:
        assert [(entry["version"], entry["by"]) for entry in history(user, each)] == [(n, user.user["id"]) for n in (3, 2, 1)]
    threads = [threading.Thread(target=user.put, args=(f"{ITEMS}/{made[0]['id']}", {"price": n})) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = history(user, made[0])
    assert [each["version"] for each in found] == list(range(15, 0, -1)), "one after the other, without a gap"
    assert all(len(each["changed"]) <= 1 for each in found[:12])
    # Concurrent restores of a deleted record restore it once, and none of them answers 500.
    path = f"{ITEMS}/{made[1]['id']}"
    user.delete(path, expect=204)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(user.post(f"{path}/history/3/restore").status_code)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 200 in answers and set(answers) <= {200, 409}
    found = history(user, made[1])
    assert [each["version"] for each in found] == list(range(len(found), 0, -1))
    assert [each["action"] for each in found].count("restored") == 1


def test_the_model_changes_and_the_past_stays_readable(project, db):
    entity = project.entity("notes", [*FIELDS[:2], {"name": "old", "type": "text"}], history=True)
    record = project.item("notes", title="12", price=1, old="x")
    path = f"{ITEMS}/{record['id']}"
    schema = project.schema(db)
    project.admin.put(path, {"title": "13", "old": "y"}, expect=200)
    admin = project.admin
    admin.put("/entities/notes/fields/title", {"name": "name", "type": "integer"}, expect=200)
    admin.delete("/entities/notes/fields/old", expect=204)
    admin.post("/entities/notes/fields", {"name": "fresh", "type": "varchar", "default": "f"}, expect=201)
    admin.post("/entities/notes/fields", {"name": "hush", "type": "secret"}, expect=201)
    admin.post("/entities", {"name": "tags", "fields": []}, expect=201)
    for name, options in (("tags", {"many": True}), ("tag", {"on_delete": "set_null"})):
        admin.post("/entities/notes/fields", {"name": name, "type": "relation", "options": {"entity": "tags", **options}}, expect=201)
    admin.put(path, {"name": 14, "hush": "secret"}, expect=200)
    found = history(admin, record)
    assert [each["record"]["name"] for each in found] == [14, 13, "12"] and "old" not in found[-1]["record"]
    assert [each["changed"] for each in found] == [["name"], ["name"], []] and "fresh" not in found[-1]["record"]
    documents = rows(db, f"select before::text from {schema}.h_{entity['id']}")
    assert not any("\\\\x" in text for text, in documents), "no sealed value"
    assert restore(admin, record, 1, expect=400)["errors"][0]["field"] == "name", "the field was a text in that version"
    assert restore(admin, record, 2)["name"] == 13
    for name in ("tags", "tag", "hush"):
        admin.delete(f"/entities/notes/fields/{name}", expect=204)
    admin.put(path, {"name": 15}, expect=200)
    assert len(history(admin, record)) == 5
    # Versions that are too old are not shown, and later changes remove them.
    execute(db, f"update {schema}.h_{entity['id']} set at = at - interval '400 days' where version < 5")
    assert [(each["version"], each["action"]) for each in history(admin, record)] == [(5, "updated"), (4, "kept")]
    restore(admin, record, 1, expect=404)
    for _ in range(2000):  # one change in a hundred removes old versions
        execute(db, f"update {schema}.e_{entity['id']} set version = version + 1")
        if rows(db, f"select count(*) from {schema}.h_{entity['id']} where version < 5") == [(0,)]:
            break
    else:
        pytest.fail("nothing was removed")


def test_on_and_off(project, db):
    entity = project.entity("notes", FIELDS)
    record = project.item("notes", title="a")
    path = f"{ITEMS}/{record['id']}"
    admin = project.admin
    assert (entity["history"], entity["history_days"]) == (False, None)
    history(admin, record, expect=404)
    admin.get(f"{ITEMS}/deleted", expect=404)
    admin.put("/entities/notes", {"history_days": 3}, expect=400)
    admin.put("/entities/notes", {"history": True, "history_days": 0}, expect=400)
    admin.put(path, {"title": "b"}, expect=200)
    shown = admin.put("/entities/notes", {"history": True}, expect=200).json()
    assert (shown["history"], shown["history_days"]) == (True, 365)
    assert [(each["version"], each["action"], each["by"]) for each in history(admin, record)] == [(2, "kept", None)]
    admin.put(path, {"title": "c"}, expect=200)
    assert [each["record"]["title"] for each in history(admin, record)] == ["c", "b"]
    assert admin.put("/entities/notes", {"history_days": 7}, expect=200).json()["history_days"] == 7
    modeler = project.user_with("svc_entities:update")
    modeler.put("/entities/notes", {"history": False}, expect=403)
    looked = admin.put("/entities/notes", {"history": False}, params={"dry_run": "true"}, expect=200).json()
    assert (looked["safe"], looked["loses_rows"]) == (False, 1)
    admin.put("/entities/notes", {"history": False}, expect=200)
    history(admin, record, expect=404)
    admin.put("/entities/notes", {"history": True}, expect=200)
    assert [each["action"] for each in history(admin, record)] == ["kept"]
    admin.delete("/entities/notes", expect=204)
    schema = project.schema(db)
    assert rows(db, "select relname from pg_class where relnamespace = %s::regnamespace and relname ~ '^h_'"
                " union all select proname from pg_proc where pronamespace = %s::regnamespace and proname ~ '^h[fo]_'",
                schema, schema) == []
