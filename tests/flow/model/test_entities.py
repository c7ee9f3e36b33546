"""Entities: created, renamed, changed and dropped; their tables; changes during traffic."""
import concurrent.futures
import threading

import pytest
from groundwork.client import Client
from groundwork.deadline import at_most, until
from groundwork.records import rows
from groundwork.runs import TableLock

NAME = {"name": "name", "type": "varchar"}


def columns(db, project, entity):
    """Returns {column name: (type, nullable)} of an entity's table."""
    with db.cursor() as cursor:
        cursor.execute(
            "select column_name, data_type, is_nullable = 'YES' from information_schema.columns"
            " where table_schema = %s and table_name = %s",
            (project.schema(db), f"e_{entity['id']}"),
        )
        return {name: (kind, nullable) for name, kind, nullable in cursor.fetchall()}


def tables(db, project):
    with db.cursor() as cursor:
        cursor.execute("select tablename from pg_tables where schemaname = %s", (project.schema(db),))
        return {row[0] for row in cursor.fetchall()}


def insert(db, project, entity, **values):
    """Inserts a row without the API, with values by field name, and returns its id."""
    ids = {field["name"]: field["id"] for field in entity["fields"]}
    names = ", ".join(f"f_{ids[name]}" for name in values)
    marks = ", ".join("%s" for _ in values)
    with db.cursor() as cursor:
        cursor.execute(
            f"insert into {project.schema(db)}.e_{entity['id']} ({names}) values ({marks}) returning id",
            tuple(values.values()),
        )
        return cursor.fetchone()[0]


def codes(response):
    return {finding["field"]: finding["code"] for finding in response.json().get("errors", [])}


# --- create -------------------------------------------------------------------------------------


def test_create_answers_the_entity_with_its_fields(project, db):
    response = project.admin.post(
        "/entities",
        {
            "name": "products",
            "label": "Products",
            "fields": [
                {"name": "sku", "type": "varchar", "required": True, "unique": True, "options": {"max_length": 40}},
                {"name": "price", "type": "float", "default": 1.5, "options": {"min": 0, "max": 1000}},
            ],
        },
        expect=201,
    )
    entity = response.json()
    assert response.headers["Location"].endswith("/entities/products")
    assert (entity["name"], entity["label"]) == ("products", "Products")
    assert (entity["row_level_security"], entity["public_read"], entity["searchable"]) == (True, False, True)
    sku, price = entity["fields"]
    assert (sku["name"], sku["type"], sku["required"], sku["unique"]) == ("sku", "varchar", True, True)
    assert sku["options"] == {"max_length": 40} and sku["default"] is None
    assert price["default"] == 1.5 and price["options"] == {"min": 0, "max": 1000}
    assert project.admin.get("/entities/products", expect=200).json() == entity
    assert columns(db, project, entity) == {
        "id": ("bigint", False),
        "created_at": ("timestamp with time zone", False),
        "updated_at": ("timestamp with time zone", False),
        "created_by": ("bigint", True),
        "version": ("bigint", False),
        f"f_{sku['id']}": ("text", False),
        f"f_{price['id']}": ("double precision", True),
    }


def test_an_entity_of_every_type(project, db):
    project.admin.post("/enums", {"name": "status", "values": ["open", "paid"]}, expect=201)
    project.entity("authors", [NAME])
    fields = [
        {"name": kind, "type": kind}
        for kind in "varchar text integer float decimal bool date datetime json file secret".split()
    ]
    fields.append({"name": "status", "type": "enum", "default": "open", "options": {"enum": "status"}})
    fields.append({"name": "author", "type": "relation", "options": {"entity": "authors"}})
    fields.append({"name": "parent", "type": "relation", "options": {"entity": "books", "on_delete": "set_null"}})
    fields.append({"name": "readers", "type": "relation", "options": {"entity": "authors", "many": True}})
    entity = project.entity("books", fields)
    shown = {field["name"]: field for field in entity["fields"]}
    assert shown["varchar"]["options"] == {"max_length": 255}
    assert shown["author"]["options"] == {"entity": "authors", "many": False, "on_delete": "restrict"}
    assert shown["parent"]["options"]["entity"] == "books"
    assert shown["readers"]["options"]["many"] is True
    kinds = [
        columns(db, project, entity)[f"f_{shown[name]['id']}"][0]
        for name in "integer decimal json secret status author".split()
    ]
    assert kinds == ["bigint", "numeric", "jsonb", "bytea", "text", "bigint"]
    assert f"l_{shown['readers']['id']}" in tables(db, project)
    project.admin.delete("/entities/books", expect=204)
    assert f"e_{entity['id']}" not in tables(db, project)
    assert f"l_{shown['readers']['id']}" not in tables(db, project)


@pytest.mark.parametrize(
    "name",
    [
        "", "A", "Products", "1st", "a b", 'a"b', "a'b", "a;b", "a-b", "ä", "svc_users", "pg_class", "id",
        "created_at", "x" * 49, "x" * 70,
    ],
)
def test_names_that_cannot_be(shared_project, name):
    response = shared_project.admin.post("/entities", {"name": name}, expect=400)
    assert codes(response) == {"name": "pattern"}
    response = shared_project.admin.post("/entities", {"name": "good", "fields": [{**NAME, "name": name}]}, expect=400)
    assert codes(response) == {"fields[0].name": "pattern"}


@pytest.mark.parametrize("name", ["or", "and", "version"])
def test_field_names_that_are_reserved(shared_project, name):
    response = shared_project.admin.post("/entities", {"name": "good", "fields": [{**NAME, "name": name}]}, expect=400)
    assert codes(response) == {"fields[0].name": "pattern"}


def test_a_null_character_is_refused(shared_project):
    shared_project.admin.post("/entities", {"name": "a\0b"}, expect=400)


def test_words_of_sql_are_names_like_any_other(project):
    """Names never reach SQL, so its words are allowed as names."""
    project.entity("select", [{"name": "table", "type": "integer"}, {"name": "drop", "type": "text"}])
    project.admin.put("/entities/select/fields/table", {"name": "from"}, expect=200)
    project.admin.delete("/entities/select", expect=204)


def test_a_name_is_given_once(project):
    project.entity("products", [NAME])
    response = project.admin.post("/entities", {"name": "products"}, expect=409)
    assert response.json()["code"] == "unique_violation" and codes(response) == {"name": "unique_violation"}
    project.admin.post("/entities", {"name": "x", "fields": [NAME, NAME]}, expect=400)
    project.admin.get("/entities/x", expect=404)


@pytest.mark.parametrize(
    "body, field, code",
    [
        ({"name": "x", "color": 1}, "color", "unknown_field"),
        ({"name": "x", "id": 1}, "id", "read_only"),
        ({"name": "x", "searchable": "yes"}, "searchable", "type_mismatch"),
        ({"label": "x"}, "name", "required"),
        ({"name": "x", "fields": [{**NAME, "type": "blob"}]}, "fields[0].type", "out_of_range"),
        ({"name": "x", "fields": [{"name": "a"}]}, "fields[0].type", "required"),
        ({"name": "x", "fields": [NAME] * 201}, "fields", "too_long"),
    ],
)
def test_bodies_that_make_no_sense(shared_project, body, field, code):
    assert codes(shared_project.admin.post("/entities", body, expect=400))[field] == code


def test_two_hundred_fields(project):
    fields = [
        {"name": f"f{i}", "type": "varchar", "indexed": i < 20, "default": "'; drop table \\ x --"} for i in range(200)
    ]
    entity = project.entity("wide", fields)
    assert [field["name"] for field in entity["fields"]] == [field["name"] for field in fields]
    assert entity["fields"][0]["default"] == "'; drop table \\ x --"
    response = project.admin.post("/entities/wide/fields", {"name": "more", "type": "bool"}, expect=409)
    assert response.json()["code"] == "conflict"


# --- read ---------------------------------------------------------------------------------------


def test_list_is_paged_and_sorted(project):
    for name in ("b", "a", "c"):
        project.entity(name, [NAME])
    page = project.admin.get("/entities", params={"sort": "name", "limit": 2}, expect=200).json()
    assert [item["name"] for item in page["items"]] == ["a", "b"]
    assert (page["total_items"], page["has_next_page"]) == (3, True)
    assert page["items"][0]["fields"][0]["name"] == "name"
    assert project.admin.get("/entities", params={"sort": "secret"}, expect=400).json()["code"] == "invalid_query"
    assert project.admin.get("/entities", params={"x": "1"}, expect=400).json()["code"] == "unknown_parameter"
    project.admin.get("/entities/absent", expect=404)


def test_permissions(project):
    project.entity("products", [NAME])
    nobody = project.user_with()
    nobody.get("/entities", expect=403)
    reader = project.user_with("svc_entities:read")
    reader.get("/entities/products", expect=200)
    reader.post("/entities", {"name": "x"}, expect=403)
    reader.put("/entities/products", {"label": "x"}, expect=403)
    reader.delete("/entities/products", expect=403)
    project.client().get("/entities", expect=401)
    project.key(["svc_entities:read"]).get("/entities", expect=200)


# --- change -------------------------------------------------------------------------------------


def test_update_merges(project, db):
    before = project.entity("products", [NAME], label="Products")
    table = columns(db, project, before)
    after = project.admin.put("/entities/products", {"name": "goods", "public_read": True}, expect=200).json()
    assert (after["id"], after["name"], after["label"]) == (before["id"], "goods", "Products")
    assert after["public_read"] is True and after["fields"] == before["fields"]
    assert columns(db, project, after) == table
    project.admin.get("/entities/products", expect=404)
    assert project.admin.patch("/entities/goods", {"label": None}, expect=200).json()["label"] is None
    project.entity("other", [NAME])
    assert project.admin.put("/entities/goods", {"name": "other"}, expect=409).json()["code"] == "unique_violation"
    project.admin.put("/entities/goods", {"name": "goods"}, expect=200)
    project.admin.put("/entities/goods", {"name": "svc_x"}, expect=400)
    project.admin.put("/entities/goods", {"fields": []}, expect=400)
    project.admin.put("/entities/absent", {"label": "x"}, expect=404)


def test_relations_follow_a_rename(project):
    project.entity("authors", [NAME])
    project.entity("books", [{"name": "author", "type": "relation", "options": {"entity": "authors"}}])
    project.admin.put("/entities/authors", {"name": "writers"}, expect=200)
    shown = project.admin.get("/entities/books", expect=200).json()
    assert shown["fields"][0]["options"]["entity"] == "writers"


def test_changes_are_audited(project):
    entity = project.entity("products", [NAME])
    project.admin.put("/entities/products", {"label": "x"}, expect=200)
    project.admin.delete("/entities/products", expect=204)
    items = project.admin.get("/audit-log", params={"sort": "-id", "limit": 3}, expect=200).json()["items"]
    assert [item["action"] for item in items] == ["entities.delete", "entities.update", "entities.create"]
    assert {item["target_id"] for item in items} == {str(entity["id"])}


# --- delete -------------------------------------------------------------------------------------


def test_delete_is_refused_while_others_refer_to_it(project):
    project.entity("authors", [NAME, {"name": "mentor", "type": "relation", "options": {"entity": "authors"}}])
    project.entity("books", [{"name": "author", "type": "relation", "options": {"entity": "authors"}}])
    response = project.admin.delete("/entities/authors", expect=409)
    assert response.json()["code"] == "in_use" and "books.author" in response.json()["detail"]
    project.admin.delete("/entities/books", expect=204)
    project.admin.delete("/entities/authors", expect=204)
    project.admin.delete("/entities/authors", expect=404)


def test_delete_is_refused_while_a_view_is_made_of_it(project):
    """The refusal names the views to callers who may list views, and a dry run is refused in the same way."""
    project.entity("products", [NAME])
    for name in ("per_name", "all_of_it"):
        view = {"name": name, "entity": "products", "aggregates": [{"function": "count"}], "group_by": []}
        project.admin.post("/materialized-views", view, expect=201)
    for params in (None, {"dry_run": "true"}):
        refused = project.admin.delete("/entities/products", params=params, expect=409).json()
        assert refused["code"] == "in_use" and "all_of_it, per_name" in refused["detail"]
        blind = project.user_with("svc_entities:delete", "products:delete").delete("/entities/products", params=params, expect=409).json()
        assert blind["code"] == "in_use" and "all_of_it" not in blind["detail"] and "views" in blind["detail"]
    project.admin.delete("/materialized-views/all_of_it", expect=204)
    assert "all_of_it" not in project.admin.delete("/entities/products", expect=409).json()["detail"]
    project.admin.delete("/materialized-views/per_name", expect=204)
    project.admin.delete("/entities/products", expect=204)


def test_delete_leaves_what_shows_it_whole(project):
    """Deleting an entity deletes its charts and widgets, hides its menu items and disables its workflows; nothing that remains
    answers 500."""
    admin = project.admin
    project.entity("products", [NAME])
    chart = admin.post("/charts", {"name": "Count", "kind": "metric", "entity": "products", "aggregates": [{"function": "count"}]},
                       expect=201).json()
    board = admin.post("/dashboards", {"name": "Board"}, expect=201).json()
    for widget in ({"kind": "chart", "chart_id": chart["id"]}, {"kind": "list", "entity": "products"}, {"kind": "text", "text": "x"}):
        admin.post(f"/dashboards/{board['id']}/widgets", widget, expect=201)
    menu = admin.post("/menus", {"key": "main", "label": "Main"}, expect=201).json()
    for item in ({"label": "Products", "kind": "entity", "target": "products"},
                 {"label": "Home", "kind": "url", "target": "/", "required_permission": "products:read"}):
        admin.post(f"/menus/{menu['id']}/items", item, expect=201)
    step = {"key": "make", "action": "CreateData", "params": {"entity": "products", "values": {"name": "x"}}}
    flow = admin.post("/workflows", {"name": "On product", "steps": [step],
                                     "trigger": {"kind": "event", "event": "EntityCreated", "entity": "products"}}, expect=201).json()
    admin.delete("/entities/products", expect=204)
    admin.get(f"/charts/{chart['id']}", expect=404)
    assert [each["kind"] for each in admin.get(f"/dashboards/{board['id']}", expect=200).json()["widgets"]] == ["text"]
    admin.get(f"/menus/{menu['id']}", expect=200)
    assert "Products" not in admin.get("/menus/my", expect=200).text
    assert admin.get(f"/workflows/{flow['id']}", expect=200).json()["enabled"] is False
    for path in ("/menus", "/workflows", "/charts", "/dashboards", "/roles", "/permissions", "/search/status", "/materialized-views"):
        admin.get(path, expect=200)


def test_delete_takes_what_hangs_on_it(project, db):
    entity = project.entity("products", [NAME])
    record = insert(db, project, entity, name="a")
    role = project.role(permissions=["products:read"])
    project.admin.put(
        f"/entities/products/items/{record}/rls-groups",
        {"items": [{"role_id": role["id"], "can_update": True}]},
        expect=200,
    )
    project.admin.delete("/entities/products", expect=204)
    with db.cursor() as cursor:
        for table in ("role_permissions", "record_grants", "field_access", "event_listeners"):
            cursor.execute(
                f"select count(*) from {project.schema(db)}.{table} where entity_id = %s", (entity["id"],)
            )
            assert cursor.fetchone() == (0,), table
    assert project.admin.get(f"/roles/{role['id']}", expect=200).json()["permissions"] == []
    project.entity("products", [NAME])


# --- concurrency --------------------------------------------------------------------------------


def test_concurrent_changes_come_one_after_the_other(project, db):
    def make(number):
        return project.admin.post("/entities", {"name": f"e{number}", "fields": [NAME]})

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(make, range(12)))
    assert [answer.status_code for answer in answers] == [201] * 12
    with db.cursor() as cursor:
        cursor.execute(f"select model_version from {project.schema(db)}.meta")
        assert cursor.fetchone() == (13,)


def test_the_same_name_at_once_is_given_once(project):
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: project.admin.post("/entities", {"name": "same"}).status_code, range(6)))
    assert sorted(answers) == [201, 409, 409, 409, 409, 409]


@pytest.mark.timed
def test_a_change_behind_a_long_read_gives_way(project, servers):
    """D16: a change that waits for a long read gives up with 503 after a few seconds, and takes effect when it is repeated."""
    entity = project.entity("products", [NAME])
    reader = servers.connect()
    reader.autocommit = False
    with reader.cursor() as cursor:
        cursor.execute(f"select count(*) from {project.schema(reader)}.e_{entity['id']}")
    with at_most(8, "a change that is not granted"):
        response = project.admin.post("/entities/products/fields", {"name": "more", "type": "bool"})
    reader.rollback()
    assert response.status_code == 503 and response.headers["Retry-After"]
    assert response.json()["code"] == "dependency_unavailable"
    project.admin.post("/entities/products/fields", {"name": "more", "type": "bool"}, expect=201)
    reader.close()


def test_a_change_waits_for_a_short_read(project, servers, db):
    """The change requests the lock more than once."""
    entity = project.entity("products", [NAME])
    seen = set()

    def waits_again(pid):
        seen.update(rows(db, "select xact_start from pg_stat_activity where %s = any (pg_blocking_pids(pid))", pid))
        return len(seen) > 1

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with TableLock(servers, f"{project.schema(db)}.e_{entity['id']}", mode="access share") as reader:
            change = pool.submit(project.admin.post, "/entities/products/fields", {"name": "more", "type": "bool"}, expect=201)
            until(lambda: waits_again(reader.pid), lambda: f"transactions of the change that waited: {seen}")
        response = change.result()
    assert response.json()["name"] == "more" and "Retry-After" not in response.headers


def test_traffic_goes_on_while_an_entity_is_altered(project):
    """D16: four clients read and write without an error while fields are added, removed and changed in name and type."""
    project.entity("products", [NAME, {"name": "amount", "type": "integer"}])
    for number in range(20):
        project.item("products", name=f"n{number}", amount=number)
    stop = threading.Event()
    answers = []

    def traffic(number):
        client = Client(project.base_url, token=project.admin.token)  # not recorded: the documents change
        while not stop.is_set():
            answers.append(client.get("/entities/products/items", params={"limit": 50, "sort": "-id"}))
            answers.append(client.post("/entities/products/items", {"name": f"t{number}"}))
            answers.append(client.get("/entities/products", params={}))

    threads = [threading.Thread(target=traffic, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(6):
            admin = project.admin
            path = "/entities/products/fields"
            admin.post(path, {"name": f"extra{turn}", "type": "varchar", "default": "x", "required": True}, expect=201)
            admin.put(f"{path}/extra{turn}", {"name": f"renamed{turn}", "indexed": True}, expect=200)
            admin.put(f"{path}/renamed{turn}", {"type": "text", "indexed": False}, expect=200)
            admin.put(path + "/amount", {"required": False, "default": turn}, expect=200)
            admin.delete(f"{path}/renamed{turn}", expect=204)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    failed = [answer for answer in answers if answer.status_code >= 400]
    assert len(answers) > 50
    assert not failed, f"{len(failed)} of {len(answers)}: {failed[0].status_code} {failed[0].text}"
