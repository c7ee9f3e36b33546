"""Fields: options, defaults, and changes that the stored records allow or contradict."""
import json

import pytest

from groundwork.soon import await_status
from test_entities import NAME, codes, columns, insert

FIELDS = "/entities/things/fields"


@pytest.fixture
def project(empty_project):
    return empty_project


@pytest.fixture
def things(project):
    """An entity with one optional varchar field."""
    return project.entity("things", [{"name": "text", "type": "varchar"}])


def values(db, project, entity, field):
    """Returns {id: stored value as PostgreSQL prints it}."""
    with db.cursor() as cursor:
        cursor.execute(
            f"select id, f_{field['id']}::text from {project.schema(db)}.e_{entity['id']} order by id"
        )
        return dict(cursor.fetchall())


def conflict(response, count, ids):
    """Checks that the response is a schema_conflict that says how many records conflict, and which."""
    body = response.json()
    assert body["code"] == "schema_conflict"
    assert body["detail"].startswith(f"{count} record"), body["detail"]
    more = f" and {count - 10} more" if count > 10 else ""
    assert body["detail"].endswith(f": {', '.join(map(str, ids[:10]))}{more}."), body["detail"]


# --- definitions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "field, place, code",
    [
        ({"type": "varchar", "options": {"max_length": 0}}, "options.max_length", "out_of_range"),
        ({"type": "varchar", "options": {"max_length": 10001}}, "options.max_length", "out_of_range"),
        ({"type": "varchar", "options": {"colour": 1}}, "options.colour", "unknown_field"),
        ({"type": "varchar", "options": {"min": 1}}, "options.min", "unknown_field"),
        ({"type": "integer", "options": {"max_length": 5}}, "options.max_length", "unknown_field"),
        ({"type": "integer", "options": {"min": 5, "max": 4}}, "options.min", "out_of_range"),
        ({"type": "integer", "options": {"max": 1e18}}, "options.max", "out_of_range"),
        ({"type": "enum"}, "options.enum", "required"),
        ({"type": "enum", "options": {"enum": "absent"}}, "options.enum", "foreign_key_violation"),
        ({"type": "relation"}, "options.entity", "required"),
        ({"type": "relation", "options": {"entity": "absent"}}, "options.entity", "foreign_key_violation"),
        ({"type": "relation", "options": {"entity": "things", "on_delete": "explode"}}, "options.on_delete",
         "out_of_range"),
        ({"type": "relation", "required": True, "options": {"entity": "things", "on_delete": "set_null"}},
         "options.on_delete", "out_of_range"),
        ({"type": "relation", "options": {"entity": "things", "many": True, "on_delete": "cascade"}},
         "options.on_delete", "out_of_range"),
        ({"type": "relation", "default": 1, "options": {"entity": "things"}}, "default", "validation_failed"),
        ({"type": "secret", "default": "x"}, "default", "validation_failed"),
        ({"type": "file", "default": 1}, "default", "validation_failed"),
        ({"type": "integer", "default": "1"}, "default", "type_mismatch"),
        ({"type": "integer", "default": 1.5}, "default", "type_mismatch"),
        ({"type": "integer", "default": 5, "options": {"max": 4}}, "default", "type_mismatch"),
        ({"type": "bool", "default": 1}, "default", "type_mismatch"),
        ({"type": "date", "default": "2026-02-30"}, "default", "type_mismatch"),
        ({"type": "datetime", "default": "2026-01-01"}, "default", "type_mismatch"),
        ({"type": "varchar", "default": "abc", "options": {"max_length": 2}}, "default", "type_mismatch"),
        ({"type": "text", "default": "x" * 5000}, "default", "too_long"),
        ({"type": "json", "unique": True}, "unique", "validation_failed"),
        ({"type": "bool", "indexed": True}, "indexed", "validation_failed"),
        ({"type": "secret", "searchable": True}, "searchable", "validation_failed"),
        ({"type": "secret", "public": True}, "public", "validation_failed"),
        ({"type": "secret", "unique": True}, "unique", "validation_failed"),
        ({"type": "text", "unique": True}, "unique", "validation_failed"),
        ({"type": "varchar", "indexed": True, "options": {"max_length": 5000}}, "indexed", "validation_failed"),
        ({"type": "relation", "unique": True, "options": {"entity": "things", "many": True}}, "unique",
         "validation_failed"),
        ({"type": "varchar", "required": None}, "required", "type_mismatch"),
        ({"type": "varchar", "created_at": "x"}, "created_at", "read_only"),
    ],
)
def test_definitions_that_make_no_sense(shared_project, field, place, code):
    if shared_project.admin.get("/entities/things").status_code == 404:
        shared_project.entity("things", [])
    response = shared_project.admin.post(FIELDS, {"name": "extra", **field}, expect=400)
    assert codes(response).get(place) == code, response.text
    assert shared_project.admin.get(FIELDS, expect=200).json()["total_items"] == 0


def test_options_that_are_null_say_nothing(project, things):
    options = dict.fromkeys(("min", "max", "enum", "entity", "many", "on_delete", "max_length"))
    field = project.admin.post(FIELDS, {"name": "extra", "type": "varchar", "options": options}, expect=201).json()
    assert field["options"] == {"max_length": 255}


def test_crud(project, things):
    response = project.admin.post(FIELDS, {"name": "price", "type": "decimal"}, expect=201)
    assert response.headers["Location"].endswith("/entities/things/fields/price")
    field = response.json()
    assert project.admin.get(FIELDS + "/price", expect=200).json() == field
    listed = project.admin.get(FIELDS, params={"sort": "name"}, expect=200).json()
    assert [item["name"] for item in listed["items"]] == ["price", "text"] and listed["items"][0] == field
    renamed = project.admin.put(FIELDS + "/price", {"name": "cost"}, expect=200).json()
    assert (renamed["id"], renamed["name"]) == (field["id"], "cost")
    assert project.admin.put(FIELDS + "/cost", {"name": "text"}, expect=409).json()["code"] == "unique_violation"
    assert project.admin.post(FIELDS, {"name": "cost", "type": "text"}, expect=409).json()["code"] == "unique_violation"
    project.admin.delete(FIELDS + "/cost", expect=204)
    project.admin.delete(FIELDS + "/cost", expect=404)
    project.admin.get(FIELDS + "/cost", expect=404)
    project.admin.get("/entities/absent/fields", expect=404)
    for name in ("id", "created_at", "created_by"):
        project.admin.put(f"{FIELDS}/{name}", {"required": False}, expect=404)
        project.admin.delete(f"{FIELDS}/{name}", expect=404)


def test_permissions(project, things):
    reader = project.user_with("svc_fields:read")
    reader.get(FIELDS, expect=200)
    reader.post(FIELDS, {"name": "x", "type": "text"}, expect=403)
    reader.put(FIELDS + "/text", {"indexed": True}, expect=403)
    reader.delete(FIELDS + "/text", expect=403)
    project.user_with("svc_entities:read").get(FIELDS, expect=403)


def test_a_removed_field_leaves_field_access(project, db, things):
    project.admin.post(FIELDS, {"name": "more", "type": "text"}, expect=201)
    project.role(
        permissions=["things:read"],
        field_access=[{"entity": "things", "action": "read", "fields": ["text", "more"]}],
    )
    project.admin.delete(FIELDS + "/more", expect=204)
    with db.cursor() as cursor:
        cursor.execute(f"select field_ids from {project.schema(db)}.field_access")
        assert cursor.fetchall() == [([things["fields"][0]["id"]],)]


# --- defaults -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, default, stored",
    [
        ("varchar", "it's \\ {p} %s", "it's \\ {p} %s"),
        ("text", "ünï 🪑\n", "ünï 🪑\n"),
        ("integer", -9007199254740993, "-9007199254740993"),
        ("float", 1e-7, "1e-07"),
        ("decimal", 19.99, "19.99"),
        ("bool", False, "false"),
        ("date", "2026-01-31", "2026-01-31"),
        ("datetime", "2026-01-31T12:00:00+02:00", "2026-01-31 10:00:00+00"),
        ("json", {"a": [1, "'"]}, None),
        ("json", "text", '"text"'),
    ],
)
def test_a_new_fields_default_fills_the_records(project, db, things, kind, default, stored):
    record = insert(db, project, things, text="a")
    with db.cursor() as cursor:
        cursor.execute("set timezone to 'UTC'")
    field = {"name": "extra", "type": kind, "required": True, "default": default}
    made = project.admin.post(FIELDS, field, expect=201).json()
    assert made["default"] == default
    got = values(db, project, things, made)[record]
    assert got == stored if stored is not None else json.loads(got) == default
    later = insert(db, project, things, text="b")
    assert values(db, project, things, made)[later] == got
    cleared = project.admin.put(FIELDS + "/extra", {"default": None, "required": False}, expect=200).json()
    assert cleared["default"] is None
    last = insert(db, project, things, text="c")
    assert values(db, project, things, made)[last] is None


def test_a_required_field_without_default_needs_an_empty_entity(project, db, things):
    project.admin.post(FIELDS, {"name": "first", "type": "text", "required": True}, expect=201)
    project.admin.delete(FIELDS + "/first", expect=204)
    ids = [insert(db, project, things, text="a") for _ in range(12)]
    for field in ({"type": "integer"}, {"type": "relation", "options": {"entity": "things", "many": True}}):
        response = project.admin.post(FIELDS, {"name": "extra", "required": True, **field}, expect=409)
        conflict(response, 12, ids)
    assert codes(response) == {"extra": "required"}
    project.admin.get(FIELDS + "/extra", expect=404)


# --- changes against data -----------------------------------------------------------------------


def test_required_on_and_off(project, db, things):
    empty = [insert(db, project, things, text=None) for _ in range(2)]
    insert(db, project, things, text="a")
    conflict(project.admin.put(FIELDS + "/text", {"required": True}, expect=409), 2, empty)
    with db.cursor() as cursor:
        cursor.execute(f"delete from {project.schema(db)}.e_{things['id']} where id = any(%s)", (empty,))
    project.admin.put(FIELDS + "/text", {"required": True}, expect=200)
    column = f"f_{things['fields'][0]['id']}"
    assert columns(db, project, things)[column] == ("text", False)
    project.admin.put(FIELDS + "/text", {"required": False}, expect=200)
    assert columns(db, project, things)[column] == ("text", True)


def indexes(db, project, entity):
    with db.cursor() as cursor:
        cursor.execute(
            "select indexname from pg_indexes where schemaname = %s and tablename = %s",
            (project.schema(db), f"e_{entity['id']}"),
        )
        return {row[0] for row in cursor.fetchall() if row[0][:2] in ("u_", "i_")}


def test_unique_and_indexed(project, db, things):
    field = things["fields"][0]["id"]
    ids = [insert(db, project, things, text=text) for text in ("a", "b", "a", None, None, "b", "c")]
    conflict(project.admin.put(FIELDS + "/text", {"unique": True}, expect=409), 4, [ids[i] for i in (0, 1, 2, 5)])
    assert indexes(db, project, things) == set()
    project.admin.put(FIELDS + "/text", {"indexed": True}, expect=200)
    assert indexes(db, project, things) == {f"i_{field}"}
    with db.cursor() as cursor:
        cursor.execute(f"delete from {project.schema(db)}.e_{things['id']} where id > %s", (ids[1],))
    assert project.admin.put(FIELDS + "/text", {"unique": True}, expect=200).json()["unique"] is True
    assert indexes(db, project, things) == {f"u_{field}"}
    project.admin.put(FIELDS + "/text", {"unique": False, "indexed": False}, expect=200)
    assert indexes(db, project, things) == set()


def test_max_length(project, db, things):
    ids = [insert(db, project, things, text=text) for text in ("ääääää", "abc", "x" * 200)]
    path = FIELDS + "/text"
    conflict(project.admin.put(path, {"options": {"max_length": 5}}, expect=409), 2, [ids[0], ids[2]])
    project.admin.put(path, {"options": {"max_length": 200}}, expect=200)
    wider = project.admin.put(path, {"options": {"max_length": 1000}}, expect=200).json()
    assert wider["options"] == {"max_length": 1000}
    insert(db, project, things, text="x" * 1000)
    with pytest.raises(Exception, match=f"ck_{things['fields'][0]['id']}"):
        insert(db, project, things, text="x" * 1001)


@pytest.mark.parametrize("kind", ["integer", "float", "decimal"])
def test_bounds(project, db, kind):
    """New bounds must fit the stored values; wider bounds always do."""
    entity = project.entity("things", [{"name": "n", "type": kind, "options": {"min": 0}}])
    ids = [insert(db, project, entity, n=n) for n in (5, 1, 9, None)]
    path = FIELDS + "/n"
    conflict(project.admin.put(path, {"options": {"min": None, "max": 4}}, expect=409), 2, [ids[0], ids[2]])
    conflict(project.admin.put(path, {"options": {"min": 2}}, expect=409), 1, [ids[1]])
    changed = project.admin.put(path, {"options": {"min": None, "max": 9}}, expect=200).json()
    assert changed["options"] == {"max": 9}
    assert project.admin.put(path, {"options": {"min": 1, "max": 10}}, expect=200).json()["options"] == {"min": 1, "max": 10}


# --- types --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, good, bad, stored",
    [
        ("integer", ["0", "-5", "9223372036854775807", None], ["", "x", "1.5", "9223372036854775808", " 1", "1e3"],
         ["0", "-5", "9223372036854775807", None]),
        ("float", ["1.5", "-2e3", None], ["", "NaN", "Infinity", "1e999", ".5", "0x10"], ["1.5", "-2000", None]),
        ("decimal", ["1.50", "12345678901234567890", None], ["", "NaN", "1,5"], ["1.50", "12345678901234567890", None]),
        ("bool", ["true", "FALSE", "1", None], ["", "yes", "2"], ["true", "false", "true", None]),
        ("date", ["2024-02-29", "0001-01-01", None], ["2023-02-29", "2023-13-01", "0000-01-01", "today", "31.1.2026"],
         ["2024-02-29", "0001-01-01", None]),
        ("datetime", ["2026-01-31T12:00:00Z", "2026-01-31t12:00:00.5+02:00", None],
         ["2026-01-31", "2026-01-31T25:00:00Z", "2026-02-30T12:00:00Z", "now", "2026-01-31T12:00:00"],
         ["2026-01-31 12:00:00+00", "2026-01-31 10:00:00.5+00", None]),
    ],
)
@pytest.mark.parametrize("source", ["varchar", "text"])
def test_texts_convert_when_every_value_does(project, db, source, kind, good, bad, stored):
    with db.cursor() as cursor:
        cursor.execute("set timezone to 'UTC'")
    entity = project.entity("things", [{"name": "v", "type": source}])
    for text in good:
        insert(db, project, entity, v=text)
    wrong = [insert(db, project, entity, v=text) for text in bad]
    response = project.admin.put(FIELDS + "/v", {"type": kind}, expect=409)
    conflict(response, len(bad), wrong)
    assert codes(response) == {"v": "type_mismatch"}
    with db.cursor() as cursor:
        cursor.execute(f"delete from {project.schema(db)}.e_{entity['id']} where id = any(%s)", (wrong,))
    changed = project.admin.put(FIELDS + "/v", {"type": kind}, expect=200).json()
    assert changed["type"] == kind and changed["options"] == {}
    assert list(values(db, project, entity, changed).values()) == stored


@pytest.mark.parametrize(
    "kind, value, text",
    [
        ("integer", 5, "5"),
        ("float", 1.5, "1.5"),
        ("decimal", "1.50", "1.50"),
        ("bool", True, "true"),
        ("date", "2026-01-31", "2026-01-31"),
        ("datetime", "2026-01-31T12:00:00.25Z", "2026-01-31T12:00:00.250Z"),
    ],
)
def test_everything_converts_to_text(project, db, kind, value, text):
    entity = project.entity("things", [{"name": "v", "type": kind}])
    insert(db, project, entity, v=value)
    changed = project.admin.put(FIELDS + "/v", {"type": "varchar"}, expect=200).json()
    assert changed["options"] == {"max_length": 255}
    assert list(values(db, project, entity, changed).values()) == [text]


def test_numbers_widen(project, db):
    entity = project.entity("things", [{"name": "v", "type": "integer", "default": 1, "options": {"min": 0}}])
    record = insert(db, project, entity, v=2**53 + 1)
    conflict(project.admin.put(FIELDS + "/v", {"type": "float"}, expect=409), 1, [record])
    changed = project.admin.put(FIELDS + "/v", {"type": "decimal"}, expect=200).json()
    assert changed["options"] == {"min": 0} and changed["default"] == 1
    later = insert(db, project, entity, v=3)
    assert values(db, project, entity, changed) == {record: "9007199254740993", later: "3"}


def test_a_default_must_fit_the_new_type(project):
    project.entity("things", [{"name": "v", "type": "integer", "default": 1}])
    assert codes(project.admin.put(FIELDS + "/v", {"type": "varchar"}, expect=400)) == {"default": "type_mismatch"}
    changed = project.admin.put(FIELDS + "/v", {"type": "varchar", "default": "x"}, expect=200).json()
    assert changed["default"] == "x"


def test_a_conversion_that_makes_duplicates(project, db):
    entity = project.entity("things", [{"name": "v", "type": "varchar", "unique": True}])
    ids = [insert(db, project, entity, v=text) for text in ("7", "007", "8")]
    conflict(project.admin.put(FIELDS + "/v", {"type": "integer"}, expect=409), 2, ids[:2])


@pytest.mark.parametrize("old, new", [("bool", "integer"), ("json", "varchar"), ("secret", "text"), ("text", "secret"),
                                      ("file", "integer"), ("float", "integer"), ("date", "datetime")])
def test_types_that_do_not_convert(project, old, new):
    project.entity("things", [{"name": "v", "type": old}])
    assert codes(project.admin.put(FIELDS + "/v", {"type": new}, expect=400)) == {"type": "type_mismatch"}


def test_text_to_enum(project, db, things):
    project.admin.post("/enums", {"name": "status", "values": ["open", "paid"]}, expect=201)
    ids = [insert(db, project, things, text=text) for text in ("open", "lost", None)]
    change = {"type": "enum", "options": {"enum": "status"}}
    conflict(project.admin.put(FIELDS + "/text", change, expect=409), 1, [ids[1]])
    with db.cursor() as cursor:
        cursor.execute(f"delete from {project.schema(db)}.e_{things['id']} where id = %s", (ids[1],))
    assert project.admin.put(FIELDS + "/text", change, expect=200).json()["options"] == {"enum": "status"}


# --- relations ----------------------------------------------------------------------------------


def test_relations_keep_their_target(project):
    project.entity("authors", [])
    project.entity("things", [{"name": "author", "type": "relation", "options": {"entity": "authors"}}])
    path = FIELDS + "/author"
    assert codes(project.admin.put(path, {"options": {"entity": "things"}}, expect=400)) == {
        "options.entity": "read_only"
    }
    assert codes(project.admin.put(path, {"options": {"many": True}}, expect=400)) == {"options.many": "read_only"}
    assert codes(project.admin.put(path, {"required": True, "options": {"on_delete": "set_null"}}, expect=400)) == {
        "options.on_delete": "out_of_range"
    }
    same = {"options": {"entity": "authors", "many": False, "on_delete": "cascade"}}
    assert project.admin.put(path, same, expect=200).json()["options"]["on_delete"] == "cascade"


@pytest.mark.parametrize("on_delete, left", [("set_null", [None]), ("cascade", [])])
def test_on_delete_changes(project, db, on_delete, left):
    authors = project.entity("authors", [{"name": "n", "type": "integer"}])
    things = project.entity("things", [{"name": "author", "type": "relation", "options": {"entity": "authors"}}])
    author = insert(db, project, authors, n=1)
    insert(db, project, things, author=author)
    delete = f"delete from {project.schema(db)}.e_{authors['id']}"
    with db.cursor() as cursor:
        with pytest.raises(Exception, match=f"fk_{things['fields'][0]['id']}"):
            cursor.execute(delete)
        project.admin.put(FIELDS + "/author", {"options": {"on_delete": on_delete}}, expect=200)
        cursor.execute(delete)
    assert list(values(db, project, things, things["fields"][0]).values()) == left


def test_relations_to_many(project, db, things):
    field = {"name": "friends", "type": "relation", "options": {"entity": "things", "many": True}}
    made = project.admin.post(FIELDS, field, expect=201).json()
    one, two = (insert(db, project, things, text=text) for text in "ab")
    table = f"{project.schema(db)}.l_{made['id']}"
    with db.cursor() as cursor:
        cursor.execute(f"insert into {table} (from_id, to_id) values (%s, %s)", (one, two))
        conflict(project.admin.put(FIELDS + "/friends", {"required": True}, expect=409), 1, [two])
        project.admin.put(FIELDS + "/friends", {"options": {"on_delete": "restrict"}}, expect=200)
        with pytest.raises(Exception, match=f"fk_{made['id']}"):
            cursor.execute(f"delete from {project.schema(db)}.e_{things['id']} where id = %s", (two,))
        project.admin.put(FIELDS + "/friends", {"options": {"on_delete": "set_null"}}, expect=200)
        cursor.execute(f"delete from {project.schema(db)}.e_{things['id']} where id = %s", (two,))
        cursor.execute(f"select count(*) from {table}")
        assert cursor.fetchone() == (0,)
    project.admin.delete(FIELDS + "/friends", expect=204)


def test_fields_that_came_and_went_too_often(project, db, things):
    """An entity whose table has had 1,600 columns refuses a further field: PostgreSQL counts dropped columns too."""
    table = f"{project.schema(db)}.e_{things['id']}"
    with db.cursor() as cursor:
        for number in range(1594):
            cursor.execute(f"alter table {table} add column x{number} int")
            cursor.execute(f"alter table {table} drop column x{number}")
    response = project.admin.post(FIELDS, {"name": "extra", "type": "text"}, expect=409)
    assert response.json()["code"] == "conflict"


HIDDEN = "/entities/staff/fields"
# Changes that the stored values allow or contradict; half of the changes fit the stored values.
PROBES = [
    {"name": "salary", "options": {"max": 5000}}, {"name": "salary", "options": {"max": 5001}},
    {"name": "salary", "options": {"min": 1}}, {"name": "salary", "type": "float"}, {"name": "salary", "type": "varchar"},
    {"name": "salary", "required": True}, {"name": "salary", "unique": True},
    {"name": "note", "options": {"max_length": 5}}, {"name": "note", "options": {"max_length": 6}},
    {"name": "salary", "unique": True, "indexed": True}, {"name": "note", "required": True},
    {"name": "note", "type": "enum", "options": {"enum": "words"}},
]


@pytest.fixture
def staff(project):
    project.admin.post("/enums", {"name": "words", "values": ["secret", "other"]}, expect=201)
    fields = [{"name": "name", "type": "varchar"}, {"name": "salary", "type": "integer"}, {"name": "note", "type": "text"},
              {"name": "state", "type": "enum", "options": {"enum": "words"}}]
    project.entity("staff", fields)
    project.item("staff", name="a", salary=5001, note="secret", state="other")
    return project


def probes(client, status):
    """Sends all PROBES and checks that their answers have the same text, so that no answer reveals a value."""
    answers = [client.put(f"{HIDDEN}/{body['name']}", body, expect=status) for body in PROBES]
    texts = {answer.json()["detail"].replace("salary", "F").replace("note", "F") for answer in answers}
    assert len(texts) == 1, texts


def test_who_does_not_read_the_records_learns_nothing_by_changes(staff):
    """A user with permissions of the model alone, such as a Standard User, cannot find out values by trying bounds."""
    user = staff.user()
    user.get("/entities/staff/items", expect=403)
    probes(user, 403)
    for values in (["other"], ["secret"]):
        user.put("/enums/words", {"values": values}, expect=403)
    user.put("/enums/words", {"values": ["secret", "other", "more"]}, expect=200)
    user.put(HIDDEN + "/salary", {"name": "wage", "searchable": False}, expect=200)
    user.put(HIDDEN + "/wage", {"name": "salary", "indexed": True}, expect=200)


def test_who_does_not_read_every_record_learns_nothing_by_changes(staff):
    user = staff.user(entities=["staff"])
    assert user.get("/entities/staff/items", expect=200).json()["items"] == []
    probes(user, 403)
    staff.admin.put("/entities/staff", {"row_level_security": False}, expect=200)
    await_status(lambda: user.put(HIDDEN + "/salary", {"options": {"max": 5000}}), 409)


def test_a_hidden_field_is_not_in_the_model(staff):
    staff.admin.put("/entities/staff", {"row_level_security": False}, expect=200)
    role = staff.role(permissions=["staff:read", "staff:delete"],
                      field_access=[{"entity": "staff", "action": "read", "fields": ["name", "state"]}])
    user = staff.user(role_ids=[staff.role_named("Standard User")["id"], role["id"]])
    shown = ["name", "state"]
    assert [field["name"] for field in user.get(HIDDEN, expect=200).json()["items"]] == shown
    assert user.get(HIDDEN, expect=200).json()["total_items"] == 2
    (entity,) = user.get("/entities", expect=200).json()["items"]
    assert [field["name"] for field in entity["fields"]] == shown
    assert [field["name"] for field in user.get("/entities/staff", expect=200).json()["fields"]] == shown
    renamed = user.put("/entities/staff", {"label": "Staff"}, expect=200).json()
    assert [field["name"] for field in renamed["fields"]] == shown
    user.get(HIDDEN + "/salary", expect=404)
    user.delete(HIDDEN + "/salary", expect=404)
    probes(user, 404)
    assert "salary" not in user.get("/docs", expect=200).text
    user.put(HIDDEN + "/name", {"required": True}, expect=200)
    assert user.post(HIDDEN, {"name": "mine", "type": "text"}, expect=201).json()["name"] == "mine"
    assert len(staff.admin.get(HIDDEN, expect=200).json()["items"]) == 5


def test_an_enum_of_a_hidden_field(staff):
    """A refusal does not name the hidden field that uses the enum."""
    staff.admin.put("/entities/staff", {"row_level_security": False}, expect=200)
    role = staff.role(permissions=["staff:read"], field_access=[{"entity": "staff", "action": "read", "fields": ["name"]}])
    user = staff.user(role_ids=[staff.role_named("Standard User")["id"], role["id"]])
    user.put("/enums/words", {"values": ["other"]}, expect=403)
    assert "state" not in user.delete("/enums/words", expect=409).json()["detail"]


def test_what_makes_records_go_needs_the_right_to_delete_them(staff):
    target = staff.entity("offices", [{"name": "name", "type": "varchar"}])["name"]
    user = staff.user_with("svc_fields:create", "svc_fields:update", "svc_fields:delete", "svc_entities:delete",
                           "svc_entities:create", "staff:read")
    link = {"name": "office", "type": "relation", "options": {"entity": target, "on_delete": "cascade"}}
    user.post(HIDDEN, link, expect=403)
    user.post(HIDDEN, {**link, "options": {"entity": target}}, expect=201)
    user.put(HIDDEN + "/office", {"options": {"on_delete": "cascade"}}, expect=403)
    user.put(HIDDEN + "/office", {"options": {"on_delete": "set_null"}}, expect=200)
    user.delete(HIDDEN + "/note", expect=403)
    user.delete("/entities/staff", expect=403)
    user.post("/entities", {"name": "empty", "fields": [NAME]}, expect=201)
    user.delete("/entities/empty/fields/name", expect=204)
    user.delete("/entities/empty", expect=204)
    staff.admin.put(f"/roles/{user.user['role_ids'][0]}", {"permissions": [
        "svc_fields:update", "svc_fields:delete", "svc_entities:delete", "staff:delete"]}, expect=200)
    await_status(lambda: user.put(HIDDEN + "/office", {"options": {"on_delete": "cascade"}}), 200)
    user.delete(HIDDEN + "/note", expect=204)
    user.delete("/entities/staff", expect=204)


def test_a_default_is_a_value_of_the_field(project):
    """The rules of written values hold for defaults. The table has the default, too, so that a time needs a usual offset and at most
    three digits of a fraction."""
    project.entity("notes", [{"name": "n", "type": "integer", "options": {"min": 2}, "default": 3}])
    fields = "/entities/notes/fields"
    made = project.admin.post(fields, {"name": "price", "type": "decimal", "default": "19.90"}, expect=201)
    assert '"default":19.90' in made.text.replace(" ", "")
    assert project.item("notes")["price"] == 19.9
    for type, default in ("decimal", "x"), ("decimal", "1e40"), ("date", "0000-01-01"), ("datetime", "2026-01-31T12:00:00+23:00"), \
            ("datetime", "2026-01-31T12:00:00.123456Z"), ("datetime", "2026-01-31T12:00:00"), ("integer", 2.0), ("varchar", "a" * 300):
        refused = project.admin.post(fields, {"name": "other", "type": type, "default": default}, expect=400)
        assert codes(refused) == {"default": "type_mismatch"}, (type, default)
        assert "is not a valid value of the field: " in refused.text
    assert codes(project.admin.put(f"{fields}/n", {"options": {"min": 5}}, expect=400)) == {"default": "type_mismatch"}
    project.admin.put(f"{fields}/n", {"searchable": False}, expect=200)
