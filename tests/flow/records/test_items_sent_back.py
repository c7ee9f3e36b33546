"""A record that is sent back as it was read changes nothing; if some fields are changed, the others are accepted unchanged."""
import pytest
from groundwork.records import codes

STAFF = "/entities/staff/items"


@pytest.fixture(scope="module")
def firm(shared_project):
    """Staff whose department, tags and file a caller sees only as numbers."""
    project = shared_project
    project.admin.post("/enums", {"name": "state", "values": ["new", "old"]}, expect=201)
    project.entity("depts", [{"name": "name", "type": "varchar"}], row_level_security=True)
    project.entity("tags", [{"name": "label", "type": "varchar"}], row_level_security=True)
    project.entity("staff", [
        {"name": "name", "type": "varchar", "required": True}, {"name": "dept", "type": "relation", "options": {"entity": "depts"}},
        {"name": "tags", "type": "relation", "options": {"entity": "tags", "many": True}}, {"name": "n", "type": "integer"},
        {"name": "price", "type": "decimal"}, {"name": "ratio", "type": "float"}, {"name": "at", "type": "datetime"},
        {"name": "day", "type": "date"}, {"name": "doc", "type": "json"}, {"name": "pin", "type": "secret"}, {"name": "level", "type": "integer"},
        {"name": "state", "type": "enum", "options": {"enum": "state"}}, {"name": "flag", "type": "bool"}, {"name": "hidden", "type": "varchar"},
        {"name": "pic", "type": "file"}], row_level_security=False)
    project.dept, project.other = (project.item("depts", name=name)["id"] for name in ("Sales", "Secret"))
    project.tags = [project.item("tags", label=label)["id"] for label in "ab"]
    picture = project.admin.put("/files/upload/a.txt", data=b"x", headers={"Content-Type": "text/plain"}, expect=201).json()["id"]
    project.person = project.item("staff", name="Ann", dept=project.dept, tags=project.tags, n=2**53 + 1, price="12345678901234567890.10",
                                  ratio=0.1, at="2026-01-01T10:00:00.123Z", day="2026-01-01", doc={"a": [1, {"b": None}]}, pin="s3cret",
                                  level=5, state="new", flag=True, hidden="h", pic=picture)
    shown = ["name", "dept", "tags", "n", "price", "ratio", "at", "day", "doc", "pin", "level", "state", "flag", "pic"]
    project.limited = project.user_with("staff:read", "staff:update", field_access=[
        {"entity": "staff", "action": "read", "fields": shown},
        {"entity": "staff", "action": "update", "fields": [name for name in shown if name != "level"]}])
    return project


def read_both(firm):
    return {"administrator": firm.admin, "limited": firm.limited}


@pytest.mark.parametrize("who", ["administrator", "limited"])
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_sent_back_as_read(firm, who, method):
    client, path = read_both(firm)[who], f"{STAFF}/{firm.person['id']}"
    before = firm.admin.get(path, expect=200)
    read = client.get(path, expect=200)
    answer = client.request(method, path, data=read.content, headers={"Content-Type": "application/json", "If-Match": read.headers["ETag"]}, expect=200)
    assert answer.content == read.content
    after = firm.admin.get(path, expect=200)
    assert after.content == before.content and after.headers["ETag"] == before.headers["ETag"]


@pytest.mark.parametrize("who", ["administrator", "limited"])
def test_one_change_beside_the_rest(firm, who):
    client, path = read_both(firm)[who], f"{STAFF}/{firm.person['id']}"
    before = firm.admin.get(path, expect=200).json()
    read = client.get(path, expect=200).json()
    client.put(path, {**read, "name": who}, expect=200)
    after = firm.admin.get(path, expect=200).json()
    assert after == {**before, "name": who, "updated_at": after["updated_at"]}


def test_a_reference_that_does_not_change(firm):
    path = f"{STAFF}/{firm.person['id']}"
    assert firm.limited.put(path, {"dept": firm.dept, "name": "x"}, expect=200).json()["name"] == "x"
    assert codes(firm.limited.put(path, {"dept": firm.other, "name": "y"}, expect=400)) == {"dept": "foreign_key_violation"}
    assert codes(firm.limited.put(path, {"dept": 999999, "name": "y"}, expect=400)) == {"dept": "foreign_key_violation"}
    assert firm.limited.get(path).json()["name"] == "x"


def test_what_differs_is_refused(firm):
    path = f"{STAFF}/{firm.person['id']}"
    read = firm.limited.get(path, expect=200).json()
    for name, value in (("id", 999999), ("created_by", None), ("created_at", "2020-01-01T00:00:00.000Z"), ("level", 6), ("level", None)):
        assert codes(firm.limited.put(path, {**read, name: value}, expect=400)) == {name: "read_only"}, name
    assert codes(firm.limited.put(path, {**read, "n": "x"}, expect=400)) == {"n": "type_mismatch"}
    for hidden in ("hidden", "nothing"):
        assert codes(firm.limited.put(path, {**read, hidden: "h"}, expect=400)) == {hidden: "unknown_field"}
    firm.limited.put(path, read, headers={"If-Match": '"0-x"'}, expect=412)
