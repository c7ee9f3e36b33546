"""?dry_run=true on requests that write entities and fields: the answer names violations and dependants, and nothing changes."""
import threading

import pytest
from groundwork.workflows import workflow

DRY = {"dry_run": "true"}
FIELDS = [
    {"name": "sku", "type": "varchar", "options": {"max_length": 40}},
    {"name": "price", "type": "float"},
    {"name": "note", "type": "text", "searchable": True},
    {"name": "amount", "type": "integer", "indexed": True},
]
NOTHING = {"workflows": [], "roles": [], "menu_items": [], "indexes": [], "fields": []}


@pytest.fixture(scope="module")
def goods(shared_project):
    """Returns (project, ids of records) with records that contradict many changes."""
    shared_project.entity("goods", FIELDS)
    ids = [shared_project.item("goods", sku=sku, price=price, note=note, amount=amount)["id"] for sku, price, note, amount in (
        ("a", 1.5, "12", 1), ("a", 2, "x", 2), ("b", None, "7", None))]
    return shared_project, ids


def model(project):
    return project.admin.get("/entities/goods", expect=200).json()


def audits(project):
    return project.admin.get("/audit-log", params={"count": "true"}, expect=200).json()["total_items"]


def dry_run(client, method, path, body=None, expect=200):
    return client.request(method, path, json=body, params=DRY, expect=expect).json()


def found(answer):
    return [(each["field"], each["code"], each["rows"], each["ids"]) for each in answer["violations"]]


def test_stored_records_speak_against_it(goods):
    project, (first, second, third) = goods
    before, logged = model(project), audits(project)
    path = "/entities/goods/fields"
    answer = dry_run(project.admin, "PUT", f"{path}/sku", {"unique": True, "options": {"max_length": 20}})
    assert not answer["safe"] and found(answer) == [("sku", "unique_violation", 2, [first, second])]
    assert answer["affected"]["indexes"] == [{"field": "sku", "kind": "unique", "change": "created"}]
    refused = project.admin.put(f"{path}/sku", {"unique": True}, expect=409).json()
    assert (refused["code"], refused["errors"][0]["code"]) == ("schema_conflict", answer["violations"][0]["code"])
    assert refused["errors"][0]["message"] == answer["violations"][0]["message"]
    # All violations are listed, not only the first, but none for values that cannot be converted.
    answer = dry_run(project.admin, "PUT", f"{path}/price", {"required": True, "options": {"min": 1.8, "max": 1.9}})
    assert found(answer) == [("price", "required", 1, [third]), ("price", "out_of_range", 1, [first]),
                             ("price", "out_of_range", 1, [second])]
    answer = dry_run(project.admin, "PUT", f"{path}/note", {"type": "integer", "options": {"min": 10}})
    assert found(answer) == [("note", "type_mismatch", 1, [second])] and answer["rewrites_rows"] == 3
    assert answer["affected"]["indexes"] == [{"field": "note", "kind": "search", "change": "rebuilt"}]
    answer = dry_run(project.admin, "POST", path, {"name": "must", "type": "text", "required": True})
    assert found(answer) == [("must", "required", 3, [first, second, third])]
    assert model(project) == before and audits(project) == logged, "nothing was done"


def test_what_would_be_made_or_lost(goods):
    project, _ = goods
    before = model(project)
    answer = dry_run(project.admin, "PUT", "/entities/goods/fields/amount", {"type": "decimal", "indexed": True})
    assert (answer["safe"], answer["rewrites_rows"], answer["loses_rows"]) == (True, 3, 0)
    assert answer["affected"]["indexes"] == [{"field": "amount", "kind": "index", "change": "rebuilt"}]
    answer = dry_run(project.admin, "DELETE", "/entities/goods/fields/price")
    assert (answer["safe"], answer["loses_rows"], answer["violations"]) == (False, 2, [])
    answer = dry_run(project.admin, "DELETE", "/entities/goods")
    assert (answer["safe"], answer["loses_rows"]) == (False, 3)
    assert {each["field"] for each in answer["affected"]["indexes"]} == {"note", "amount"}
    answer = dry_run(project.admin, "POST", "/entities/goods/fields", {"name": "weight", "type": "float", "default": 1})
    assert answer == {"safe": True, "rewrites_rows": 0, "loses_rows": 0, "violations": [], "affected": NOTHING}
    answer = dry_run(project.admin, "POST", "/entities", {"name": "new_one", "fields": [{"name": "k", "type": "varchar", "unique": True}]})
    assert answer["safe"] and answer["affected"]["indexes"] == [{"field": "k", "kind": "unique", "change": "created"}]
    assert dry_run(project.admin, "PUT", "/entities/goods", {"name": "wares"})["safe"]
    assert model(project) == before
    project.admin.get("/entities/new_one", expect=404)


def test_what_refers_to_it(goods):
    project, _ = goods
    ids = {each["name"]: each["id"] for each in model(project)["fields"]}
    role = project.role(permissions=["goods:read"], field_access=[{"entity": "goods", "action": "read", "fields": ["sku"]}])
    made = workflow(project.admin, steps=[{"key": "a", "name": "a", "action": "ReadData",
                                           "params": {"entity": "goods", "filter": {"price": {"gt": 1}}}}])
    menu = project.admin.post("/menus", {"key": "main", "label": "M"}, expect=201).json()
    item = project.admin.post(f"/menus/{menu['id']}/items", {"label": "G", "kind": "entity", "target": "goods"}, expect=201).json()
    affected = dry_run(project.admin, "DELETE", "/entities/goods")["affected"]
    assert [each["id"] for each in affected["workflows"]] == [made["id"]]
    assert [each["id"] for each in affected["roles"]] == [role["id"]]
    assert affected["menu_items"] == [{"id": item["id"], "menu_id": menu["id"], "menu": "main"}]
    affected = dry_run(project.admin, "DELETE", "/entities/goods/fields/price")["affected"]
    assert [each["id"] for each in affected["workflows"]] == [made["id"]] and affected["roles"] == []
    affected = dry_run(project.admin, "PUT", "/entities/goods/fields/sku", {"name": "code"})["affected"]
    assert affected["workflows"] == [] and [each["id"] for each in affected["roles"]] == [role["id"]] and "sku" in ids
    # A caller who may not read such dependants gets no list of them.
    modeler = project.user_with("svc_fields:delete", "goods:delete", "goods:read")
    answer = dry_run(modeler, "DELETE", "/entities/goods/fields/price")
    assert answer["affected"] == {**NOTHING, "workflows": None, "roles": None}
    assert (answer["loses_rows"], answer["safe"]) == (None, False), "the caller sees only its own records"
    for path in (f"/menus/{menu['id']}", f"/workflows/{made['id']}", f"/roles/{role['id']}"):
        project.admin.delete(path, expect=204)


@pytest.mark.parametrize("method, path, body, expect", [
    ("POST", "/entities", {"name": "goods", "fields": []}, 409),
    ("POST", "/entities", {"name": "Bad Name", "fields": []}, 400),
    ("POST", "/entities", {"name": "x", "fields": [{"name": "k", "type": "bool", "unique": True}]}, 400),
    ("PUT", "/entities/nothing", {"label": "x"}, 404),
    ("DELETE", "/entities/nothing", None, 404),
    ("POST", "/entities/goods/fields", {"name": "sku", "type": "text"}, 409),
    ("PUT", "/entities/goods/fields/sku", {"type": "json"}, 400),
    ("PUT", "/entities/goods/fields/nothing", {"required": True}, 404),
    ("DELETE", "/entities/goods/fields/nothing", None, 404),
])
def test_it_is_refused_as_the_change_is(goods, method, path, body, expect):
    project, _ = goods
    tried = dry_run(project.admin, method, path, body, expect)
    refused = project.admin.request(method, path, json=body, expect=expect).json()
    assert (tried["code"], tried["detail"], tried.get("errors")) == (refused["code"], refused["detail"], refused.get("errors"))


def test_rights_and_conditions(goods):
    project, _ = goods
    path = "/entities/goods/fields/sku"
    reader = project.user_with("svc_fields:update", "svc_fields:create", "svc_fields:delete", "goods:read")
    dry_run(reader, "PUT", path, {"unique": True}, 403)
    dry_run(reader, "DELETE", path, None, 403)
    answer = dry_run(reader, "POST", "/entities/goods/fields", {"name": "must", "type": "text", "required": True})
    assert found(answer) == [("must", "required", None, [])] and "3" not in answer["violations"][0]["message"]
    dry_run(project.user_with("goods:read"), "DELETE", path, None, 403)
    etag = project.admin.get(path, expect=200).headers["ETag"]
    for tag, expect in ((etag, 200), ('"old"', 412)):
        project.admin.put(path, {"unique": True}, params=DRY, headers={"If-Match": tag}, expect=expect)
    project.admin.put(path, {"unique": True}, params={"dry_run": "maybe"}, expect=400)
    project.admin.put(path, {"unique": True}, params={"dry": "true"}, expect=400)


def test_it_waits_for_nobody_and_holds_nobody_up(goods, db):
    """A dry run over a table that another transaction writes takes no lock that would wait, and keeps none."""
    project, _ = goods
    entity = model(project)
    with db.cursor() as cursor:
        cursor.execute("begin")
        cursor.execute(f"lock table {project.schema(db)}.e_{entity['id']} in row exclusive mode")
        try:
            answers = []
            threads = [threading.Thread(target=lambda: answers.append(
                dry_run(project.admin, "PUT", "/entities/goods/fields/sku", {"unique": True}))) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert [found(answer)[0][1] for answer in answers] == ["unique_violation"] * 4
        finally:
            cursor.execute("rollback")


def test_changes_of_an_enum(project, db):
    admin, enum, dry = project.admin, "/enums/status", {"params": DRY}
    admin.post("/enums", {"name": "status", "values": ["open", "paid", "lost"]}, expect=201)
    answer = admin.delete(enum, expect=200, **dry).json()
    assert answer == {"safe": True, "rewrites_rows": 0, "loses_rows": 0, "violations": [], "affected": NOTHING}
    typed = {"name": "status", "type": "enum", "options": {"enum": "status"}}
    for name, default in (("orders", "open"), ("offers", None)):
        project.entity(name, [{**typed, **({"default": default} if default else {})}])
    ids = [project.item("orders", status=value)["id"] for value in ("open", "paid", "lost", None)]
    before, logged = admin.get(enum, expect=200).json(), audits(project)
    fields = [(name, admin.get(f"/entities/{name}/fields/status", expect=200).json()["id"]) for name in ("offers", "orders")]

    def preview(body, method="PUT", client=admin, **more):
        answer = client.request(method, enum, json=body, params=DRY, expect=200, **more).json()
        assert sorted((each["entity"], each["id"]) for each in answer["affected"]["fields"]) == fields
        return answer["safe"], [(each["entity"], *one) for each, one in zip(answer["violations"], found(answer))]

    assert preview({"values": ["new", "lost", "paid", "open"]}) == (True, []) and preview({"name": "state"}) == (True, [])
    assert preview({"values": ["open"]}) == (False, [("orders", "status", "in_use", 2, ids[1:3])])
    assert preview({"values": ["paid"]}) == (
        False, [("orders", "status", "in_use", 0, []), ("orders", "status", "in_use", 2, [ids[0], ids[2]])])
    safe, violations = preview(None, "DELETE")
    assert not safe and sorted(violations) == [(name, "status", "in_use", 0, []) for name in ("offers", "orders")]
    # The change says the same as its preview.
    told = admin.put(enum, {"values": ["open"]}, params=DRY, expect=200).json()["violations"][0]
    refused = admin.put(enum, {"values": ["open"]}, expect=409).json()
    assert (refused["errors"][0]["code"], refused["errors"][0]["message"]) == (told["code"], told["message"])
    told = admin.delete(enum, expect=200, **dry).json()["violations"][0]
    assert admin.delete(enum, expect=409).json()["detail"] == told["message"]
    assert admin.get(enum, expect=200).json() == before and audits(project) == logged
    # Validation, rights and If-Match refuse the preview as they refuse the change.
    for body, status in (({"values": []}, 400), ({"name": "E"}, 400), ({"values": ["a", "a"]}, 400)):
        admin.put(enum, body, params=DRY, expect=status)
    admin.post("/enums", {"name": "other", "values": ["a"]}, expect=201)
    admin.put(enum, {"name": "other"}, params=DRY, expect=409)
    admin.put("/enums/absent", {"values": ["a"]}, params=DRY, expect=404)
    admin.delete("/enums/absent", expect=404, **dry)
    stale = {"headers": {"If-Match": '"0"'}, "params": DRY}
    admin.put(enum, {"values": ["open"]}, expect=412, **stale)
    admin.delete(enum, expect=412, **stale)
    blind = project.user_with("svc_entities:read", "svc_entities:update", "svc_entities:delete")
    blind.put(enum, {"values": ["open"]}, params=DRY, expect=403)
    assert preview({"values": ["open", "paid", "lost", "new"]}, client=blind) == (True, [])
    project.user_with("svc_entities:read").delete(enum, expect=403, **dry)


def test_a_hidden_field_of_an_enum_is_not_named(project):
    project.admin.post("/enums", {"name": "status", "values": ["open", "paid"]}, expect=201)
    project.entity("orders", [{"name": "name", "type": "varchar"}, {"name": "status", "type": "enum", "options": {"enum": "status"}}])
    reader = project.user_with("svc_entities:read", "svc_entities:update", "svc_entities:delete", "orders:read",
                               field_access=[{"entity": "orders", "action": "read", "fields": ["name"]}])
    answer = dry_run(reader, "PUT", "/enums/status", {"name": "state"})
    assert answer["affected"]["fields"] == [] and "orders" not in str(answer)
    refused = dry_run(reader, "DELETE", "/enums/status", expect=409)
    assert refused["detail"] == "A field uses this enum."
