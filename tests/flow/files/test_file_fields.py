"""Fields of type file: a file belongs to one record, is readable by the readers of that record, and is deleted with it."""
import pytest
from groundwork.deadline import until
from groundwork.soon import settle

PETS = "/entities/pets/items"


@pytest.fixture
def pets(project):
    """An entity under the row rule with two fields of type file: photo and papers."""
    project.entity("pets", [{"name": "name", "type": "varchar"}, {"name": "photo", "type": "file"}, {"name": "papers", "type": "file"}],
                   row_level_security=True)
    return project


@pytest.fixture
def wait_clean(project, stored_files, ledger):
    def look(count):
        until(lambda: len(stored_files(project)) == count and not ledger(project)[1], "removed")
        assert ledger(project)[2][1] == count
    return look


@pytest.fixture(scope="module", autouse=True)
def collecting(start_gateway):
    """Runs a gateway whose collector removes the bytes of deleted records within a second."""
    daemon = start_gateway(WORKERS=1, FILES_COLLECT_MS=300)
    yield
    daemon.stop()


def test_attached_with_the_record(pets, admin, put):
    photo = put(admin, "rex.png", b"bytes")
    rex = admin.post(PETS, {"name": "Rex", "photo": photo["id"]}, expect=201).json()
    assert rex["photo"] == photo["id"] and rex["papers"] is None
    seen = admin.get(f"/files/{photo['id']}", expect=200).json()
    assert (seen["entity"], seen["entity_id"], seen["field_name"]) == ("pets", rex["id"], "photo")
    found = admin.get(f"{PETS}/{rex['id']}", params={"expand": "photo"}, expect=200).json()["photo"]
    assert found == {key: photo[key] for key in ("id", "filename", "mime_type", "size", "sha256", "is_public", "width", "height",
                                                 "duration", "created_at")}
    assert admin.get(PETS, params={"expand": "photo,papers"}, expect=200).json()["items"][0]["papers"] is None
    for path in ("photo.filename", "photo.x", "name"):
        admin.get(PETS, params={"expand": path}, expect=400)
    assert admin.get("/storage", expect=200).json()["entities"] == [{"entity": "pets", "bytes": 5, "files": 1}]


def test_attached_by_the_upload(pets, admin, put, post, wait_clean):
    rex = admin.post(PETS, {"name": "Rex"}, expect=201).json()
    where = {"entity": "pets", "entityId": rex["id"], "fieldName": "photo"}
    first = put(admin, "one.png", b"one", **where)
    assert (first["entity"], first["entity_id"], first["field_name"]) == ("pets", rex["id"], "photo")
    assert admin.get(f"{PETS}/{rex['id']}", expect=200).json()["photo"] == first["id"]
    second = post(admin, [("two.png", b"two two")], **where)
    assert admin.get(f"{PETS}/{rex['id']}", expect=200).json()["photo"] == second["id"]
    admin.get(f"/files/{first['id']}", expect=404)
    for wrong, status in (({"entity": "cats"}, 404), ({"entityId": 424242}, 404), ({"fieldName": "name"}, 400), ({"fieldName": None}, 400)):
        put(admin, "x", b"x", expect=status, **{key: value for key, value in {**where, **wrong}.items() if value})
    post(admin, [("a", b"a"), ("b", b"b")], expect=400, **where)
    wait_clean(1)


def test_attached_as_the_contract_writes_it(pets, admin, put, post):
    """The name of the field is enough if only one entity that the caller may change has such a field."""
    rex = admin.post(PETS, {"name": "Rex"}, expect=201).json()
    where = {"entityId": rex["id"], "fieldName": "photo"}
    made = post(admin, [("one.png", b"one")], **where)
    assert (made["entity"], made["entity_id"], made["field_name"]) == ("pets", rex["id"], "photo")
    assert admin.get(f"{PETS}/{rex['id']}", expect=200).json()["photo"] == made["id"]

    def named(expect=400, client=admin, **query):
        return post(client, [("x", b"x")], expect=expect, **query)["errors"][0]["field"]

    assert named(entityId=rex["id"]) == "fieldName" and named(fieldName="photo") == "entityId"
    assert named(entity="pets", fieldName="photo") == named(entity="pets") == "entityId"
    assert named(entityId=rex["id"], fieldName="name") == named(entityId=rex["id"], fieldName="x") == "entity"
    post(admin, [("x", b"x")], expect=404, entityId=424242, fieldName="photo")
    pets.entity("people", [{"name": "photo", "type": "file"}])
    settle()
    assert named(**where) == "entity"
    # Entities that the caller may not change make nothing ambiguous, and no answer names them.
    alice = pets.user(permissions=["pets:read", "pets:create", "pets:update", "svc_files:create"])
    max_ = alice.post(PETS, {"name": "Max"}, expect=201).json()
    assert post(alice, [("x", b"x")], entityId=max_["id"], fieldName="photo")["entity"] == "pets"
    bob = pets.user(permissions=["svc_files:create"])
    assert named(client=bob, **where) == "entity"
    assert put(admin, "y.png", b"y", entity="people", entityId=admin.post("/entities/people/items", {}, expect=201).json()["id"],
               fieldName="photo")["entity"] == "people"


def test_one_record_alone(pets, admin, put):
    """A file of another record, a missing file and another user's file are refused with the same answer."""
    alice, bob = pets.user(permissions=["pets:read", "pets:create", "pets:update"]), pets.user()
    photo = put(admin, "x", b"x")["id"]
    admin.post(PETS, {"name": "Rex", "photo": photo}, expect=201)
    refused = [admin.post(PETS, {"name": "Max", "photo": number}, expect=400).json() for number in (photo, 424242)]
    refused += [alice.post(PETS, {"name": "Max", "photo": put(bob, "y", b"y")["id"]}, expect=400).json()]
    refused += [admin.post(PETS, {"name": "Max", "papers": photo}, expect=400).json()]
    assert {each["errors"][0]["code"] for each in refused} == {"foreign_key_violation"}
    admin.post(f"{PETS}/bulk", {"items": [{"name": "a", "photo": photo}, {"name": "b"}]}, expect=400)
    assert admin.get(PETS, expect=200).json()["total_items"] == 1


def test_the_records_rule_decides(pets, admin, put):
    alice = pets.user(permissions=["pets:read", "pets:create", "pets:update"])
    bob = pets.user(permissions=["pets:read"])
    photo = put(alice, "x.png", b"secret")["id"]
    rex = alice.post(PETS, {"name": "Rex", "photo": photo}, expect=201).json()["id"]
    bob.get(f"/files/{photo}/get", expect=404)
    assert bob.get("/files", expect=200).json()["total_items"] == 0
    admin.put(f"{PETS}/{rex}/rls-users", {"items": [{"user_id": bob.user["id"]}]}, expect=200)
    settle()
    assert bob.get(f"/files/{photo}/get", expect=200).content == b"secret"
    assert bob.get("/files", expect=200).json()["total_items"] == 1
    bob.delete(f"/files/{photo}", expect=404)
    bob.put(f"/files/{photo}", {"filename": "mine"}, expect=404)
    # Having uploaded the file gives no access: a user who does not see the record does not see its file.
    carol = pets.user(permissions=["pets:create"])
    own = put(carol, "y.png", b"of carol")["id"]
    carol.get(f"/files/{own}/get", expect=200)
    carol.post(PETS, {"name": "Max", "photo": own}, expect=201)
    carol.get(f"/files/{own}/get", expect=404)
    admin.get(f"/files/{own}/get", expect=200)


def test_nothing_dangles(pets, admin, put, wait_clean):
    """Deletions of files, records, fields and entities leave no reference without its file and no bytes without their row."""
    numbers = [put(admin, f"{n}", b"x" * n)["id"] for n in range(1, 9)]
    rows = [admin.post(PETS, {"name": str(n), "photo": number}, expect=201).json()["id"] for n, number in enumerate(numbers)]
    before = admin.get(f"{PETS}/{rows[0]}", expect=200)
    admin.delete(f"/files/{numbers[0]}", expect=204)
    after = admin.get(f"{PETS}/{rows[0]}", expect=200)
    assert after.json()["photo"] is None and after.headers["ETag"] != before.headers["ETag"]
    wait_clean(7)
    admin.delete(f"{PETS}/{rows[1]}", expect=204)
    admin.get(f"/files/{numbers[1]}", expect=404)
    admin.put(f"{PETS}/{rows[2]}", {"photo": None}, expect=200)
    admin.put(f"{PETS}/{rows[3]}", {"name": "kept", "photo": numbers[3]}, expect=200)
    admin.get(f"/files/{numbers[3]}", expect=200)
    wait_clean(5)
    admin.post(f"{PETS}/delete-many", {"ids": rows[4:6]}, expect=200)
    wait_clean(3)
    admin.delete("/entities/pets/fields/papers", expect=204)
    wait_clean(3)
    admin.delete("/entities/pets", expect=204)
    wait_clean(0)
    assert admin.get("/storage", expect=200).json()["files"] == 0


def test_a_required_file(project, admin, put):
    project.entity("cards", [{"name": "picture", "type": "file", "required": True}])
    admin.post("/entities/cards/items", {}, expect=400)
    picture = put(admin, "x", b"x")["id"]
    card = admin.post("/entities/cards/items", {"picture": picture}, expect=201).json()["id"]
    assert admin.delete(f"/files/{picture}", expect=409).json()["code"] == "conflict"
    admin.delete("/files", json={"ids": [picture]}, expect=409)
    admin.delete(f"/entities/cards/items/{card}", expect=204)
    admin.get(f"/files/{picture}", expect=404)


def test_a_field_that_is_added_and_removed(project, admin, put, wait_clean):
    project.entity("notes", [{"name": "text", "type": "varchar"}])
    note = admin.post("/entities/notes/items", {"text": "x"}, expect=201).json()["id"]
    admin.post("/entities/notes/fields", {"name": "scan", "type": "file"}, expect=201)
    settle()
    scan = put(admin, "scan.pdf", b"%PDF-1.4\n", entity="notes", entityId=note, fieldName="scan")["id"]
    admin.delete("/entities/notes/fields/scan", expect=204)
    admin.get(f"/files/{scan}", expect=404)
    wait_clean(0)


def test_imports_and_exports_have_ids(pets, admin, put):
    photo = put(admin, "x", b"x")["id"]
    task = admin.post(f"{PETS}/import", None, files={"file": ("x.csv", f"name,photo\nRex,{photo}\nMax,424242\n", "text/csv")}, expect=202).json()
    until(lambda: admin.get(f"/tasks/{task['task_id']}", expect=200).json()["status"] not in ("queued", "running"), "imported")
    items = admin.get(PETS, expect=200).json()["items"]
    assert [(each["name"], each["photo"]) for each in items] == [("Rex", photo)]
    assert str(photo) in admin.get(f"{PETS}/export", params={"format": "csv"}, expect=200).text
