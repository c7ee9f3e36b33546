"""Enums: named values, the fields that use them, the records that hold them."""
import pytest

from test_entities import codes, insert


@pytest.fixture
def status(project):
    return project.admin.post("/enums", {"name": "status", "values": ["open", "paid", "lost"]}, expect=201).json()


@pytest.fixture
def orders(project, status):
    return project.entity("orders", [{"name": "status", "type": "enum", "options": {"enum": "status"}}])


def test_crud(project, status):
    assert status["values"] == ["open", "paid", "lost"]
    assert project.admin.get("/enums/status", expect=200).json() == status
    project.admin.post("/enums", {"name": "colour", "values": ["red"]}, expect=201)
    page = project.admin.get("/enums", expect=200).json()
    assert [item["name"] for item in page["items"]] == ["colour", "status"] and page["total_items"] == 2
    changed = project.admin.put("/enums/status", {"values": ["paid", "new"]}, expect=200).json()
    assert changed["values"] == ["paid", "new"] and changed["name"] == "status"
    project.admin.delete("/enums/status", expect=204)
    for method in ("get", "delete"):
        getattr(project.admin, method)("/enums/status", expect=404)
    project.admin.put("/enums/status", {"values": ["a"]}, expect=404)


@pytest.mark.parametrize(
    "body, field, code",
    [
        ({"name": "e"}, "values", "required"),
        ({"name": "e", "values": []}, "values", "out_of_range"),
        ({"name": "e", "values": ["a", "b", "a"]}, "values[2]", "unique_violation"),
        ({"name": "e", "values": ["a", ""]}, "values[1]", "out_of_range"),
        ({"name": "e", "values": ["x" * 256]}, "values[0]", "too_long"),
        ({"name": "e", "values": [1]}, "values[0]", "type_mismatch"),
        ({"name": "e", "values": [str(i) for i in range(1001)]}, "values", "too_long"),
        ({"name": "E", "values": ["a"]}, "name", "pattern"),
        ({"name": "svc_e", "values": ["a"]}, "name", "pattern"),
    ],
)
def test_bodies_that_make_no_sense(shared_project, body, field, code):
    assert codes(shared_project.admin.post("/enums", body, expect=400)) == {field: code}


def test_a_thousand_values(project):
    values = [f"{i}-" + "ä" * 100 for i in range(1000)]
    assert project.admin.post("/enums", {"name": "big", "values": values}, expect=201).json()["values"] == values


def test_a_name_is_given_once(project, status):
    response = project.admin.post("/enums", {"name": "status", "values": ["a"]}, expect=409)
    assert response.json()["code"] == "unique_violation"
    project.admin.post("/enums", {"name": "other", "values": ["a"]}, expect=201)
    assert project.admin.put("/enums/other", {"name": "status"}, expect=409).json()["code"] == "unique_violation"


def test_a_value_in_use_stays(project, db, orders):
    ids = [insert(db, project, orders, status=value) for value in ("open", "paid", "lost", None)]
    response = project.admin.put("/enums/status", {"values": ["open"]}, expect=409)
    assert response.json()["code"] == "schema_conflict"
    assert response.json()["detail"] == (
        f"2 records have a value to be removed in 'status' of 'orders': {ids[1]}, {ids[2]}."
    )
    assert project.admin.get("/enums/status", expect=200).json()["values"] == ["open", "paid", "lost"]
    project.admin.put("/enums/status", {"values": ["new", "lost", "paid", "open"]}, expect=200)


def test_a_default_in_use_stays(project, orders):
    project.admin.put("/entities/orders/fields/status", {"default": "open"}, expect=200)
    assert project.admin.put("/enums/status", {"values": ["paid"]}, expect=409).json()["code"] == "in_use"
    assert codes(project.admin.put("/entities/orders/fields/status", {"default": "absent"}, expect=400)) == {
        "default": "type_mismatch"
    }


def test_an_enum_in_use_stays(project, orders):
    response = project.admin.delete("/enums/status", expect=409)
    assert response.json()["code"] == "in_use" and "'orders'" in response.json()["detail"]
    project.admin.delete("/entities/orders", expect=204)
    project.admin.delete("/enums/status", expect=204)


def test_fields_follow_a_rename(project, orders):
    project.admin.put("/enums/status", {"name": "state"}, expect=200)
    field = project.admin.get("/entities/orders/fields/status", expect=200).json()
    assert field["options"] == {"enum": "state"}
    project.admin.put("/entities/orders/fields/status", {"default": "paid"}, expect=200)


def test_another_enum_for_a_field(project, db, orders):
    project.admin.post("/enums", {"name": "short", "values": ["open"]}, expect=201)
    record = insert(db, project, orders, status="paid")
    path = "/entities/orders/fields/status"
    response = project.admin.put(path, {"options": {"enum": "short"}}, expect=409)
    assert response.json()["code"] == "schema_conflict" and str(record) in response.json()["detail"]
    with db.cursor() as cursor:
        cursor.execute(f"delete from {project.schema(db)}.e_{orders['id']}")
    assert project.admin.put(path, {"options": {"enum": "short"}}, expect=200).json()["options"] == {"enum": "short"}


def test_permissions(project, status):
    reader = project.user_with("svc_entities:read")
    reader.get("/enums", expect=200)
    reader.post("/enums", {"name": "x", "values": ["a"]}, expect=403)
    reader.put("/enums/status", {"values": ["a"]}, expect=403)
    reader.delete("/enums/status", expect=403)
    project.user_with().get("/enums", expect=403)
