"""A1-A3, A10-A12: a caller cannot learn by any request of projects and rows that it may not see."""
import json

import pytest

from groundwork.soon import await_status

CANARY = "canary-7f3a9"


def response_content(response):
    """Status and body of an answer, without the request id."""
    body = response.json()
    body.pop("request_id", None)
    return response.status_code, body


# --- other projects (A1) ---


@pytest.fixture
def two_projects(make_project, gateway):
    """Two projects with the same model; only the second has records."""
    mine, theirs = make_project(gateway), make_project(gateway)
    for project in (mine, theirs):
        project.entity("orders", public_read=False)
    for _ in range(3):
        theirs.item("orders", name=CANARY)
    return mine, theirs


def test_a1_ids_of_another_project_are_unknown(two_projects):
    mine, theirs = two_projects
    user = theirs.user()
    group = theirs.admin.post("/groups", {"name": CANARY}, expect=201).json()
    role = theirs.role(CANARY)
    key = theirs.key(["svc_files:read"])
    for number in range(1, 12):  # ids that exist in the other project, and ids that exist nowhere
        missing = response_content(mine.admin.get(f"/entities/orders/items/{number}"))
        assert missing == response_content(mine.admin.get("/entities/orders/items/424242")) and missing[0] == 404
    assert user and group and role and key
    for path in ("/users", "/roles", "/groups", "/api-keys", "/audit-log", "/entities", "/user-profiles",
                 "/entities/orders/items", "/entities/orders/items/export?format=jsonl"):
        assert CANARY not in mine.admin.get(path, expect=200).text


def test_a1_tokens_and_keys_work_in_their_own_project_only(two_projects):
    mine, theirs = two_projects
    key = theirs.key(["orders:read"])
    for token, api_key in ((theirs.admin.token, None), (theirs.user(entities=["orders"]).token, None), (None, key.key)):
        stranger = mine.client(token=token, key=api_key)
        nobody = mine.client(token="x" if token else None, key="ak_x" if api_key else None)
        for path in ("/entities/orders/items", "/entities/orders/items/1", "/users/me", "/docs"):
            assert stranger.get(path).status_code == 401
            assert response_content(stranger.get(path))[1].keys() == response_content(nobody.get(path))[1].keys()
        stranger.post("/entities/orders/items", {"name": "x"}, expect=401)
    assert mine.admin.get("/entities/orders/items").json()["total_items"] == 0


def test_a1_a_refresh_token_of_another_project(two_projects):
    mine, theirs = two_projects
    mine.client().post("/auth/v1/refresh", {"refresh_token": theirs.admin.refresh_token}, expect=401)
    theirs.client().post("/auth/v1/refresh", {"refresh_token": theirs.admin.refresh_token}, expect=200)


def test_a1_a_deleted_project_is_gone_and_its_name_starts_empty(operator, recorder, gateway):
    from groundwork.project import Project

    old = Project(gateway, operator, recorder, name="phoenix")
    old.entity("orders")
    old.item("orders", name=CANARY)
    token, key = old.admin.token, old.key(["orders:read"])
    old.delete()
    await_status(lambda: key.get("/entities/orders/items"), 404)
    new = Project(gateway, operator, recorder, name="phoenix")
    await_status(lambda: new.client(token=token).get("/users/me"), 401)
    await_status(lambda: new.client(key=key.key).get("/users/me"), 401)
    assert CANARY not in await_status(lambda: new.admin.get("/entities"), 200).text
    new.delete()


# --- rows that are hidden (A10) ---


@pytest.fixture(scope="module")
def rows(shared_project):
    """alice owns one record and bob another; each order refers to a customer."""
    project = shared_project
    project.entity("customers", [{"name": "name", "type": "varchar", "searchable": True},
                                 {"name": "code", "type": "varchar", "unique": True}])
    project.entity("orders", [
        {"name": "name", "type": "varchar", "searchable": True},
        {"name": "amount", "type": "integer"},
        {"name": "password", "type": "secret"},
        {"name": "customer", "type": "relation", "options": {"entity": "customers"}},
        {"name": "watchers", "type": "relation", "options": {"entity": "customers", "many": True}},
    ])
    project.alice = project.user(permissions=["svc_exports:create"], entities=["orders", "customers"])
    project.bob = project.user(permissions=["svc_exports:create"], entities=["orders", "customers"])
    project.hidden_customer = project.item("customers", client=project.bob, name=CANARY, code=CANARY)
    project.hidden = project.item("orders", client=project.bob, name=CANARY, amount=7000, password=CANARY,
                                  customer=project.hidden_customer["id"])
    project.own_customer = project.item("customers", client=project.alice, name="alice's", code="alice")
    project.own = project.item("orders", client=project.alice, name="alice's", amount=1,
                               customer=project.own_customer["id"])
    return project


ITEMS = "/entities/orders/items"


def test_a10_hidden_from_reading(rows):
    hidden, missing = f"{ITEMS}/{rows.hidden['id']}", f"{ITEMS}/424242"
    for query in ("", "?fields=id", "?expand=customer"):
        assert response_content(rows.alice.get(hidden + query)) == response_content(rows.alice.get(missing + query))
    everything = rows.alice.get(ITEMS, params={"limit": 500, "expand": "customer"}, expect=200)
    assert everything.json()["total_items"] == 1 and CANARY not in everything.text


@pytest.mark.parametrize("query", [
    "filter[amount][gt]=0", "filter[name][contains]=canary", f"filter[name]={CANARY}", "filter[customer.name][contains]=a",
    f"filter[customer.name]={CANARY}", f"filter[customer.code]={CANARY}", "filter[or][0][amount]=7000&filter[or][1][amount]=1",
    "sort=-amount", "sort=customer.name", "limit=1", "count=false", "cursor=start", "fields=id,amount&sort=amount",
    f"filter[id]={1}", "filter[id][in]=1,2,3,4", "filter[customer]=1",
])
def test_a10_hidden_from_lists(rows, query):
    answer = rows.alice.get(f"{ITEMS}?{query}", expect=200)
    assert CANARY not in answer.text and "7000" not in answer.text
    body = answer.json()
    assert [item["id"] for item in body["items"]] in ([], [rows.own["id"]])
    assert body["total_items"] <= 1 and not body["has_next_page"]


def test_a10_hidden_from_counts_and_sums(rows):
    answer = rows.alice.get(f"{ITEMS}/aggregate", params={"count": "*", "sum": "amount", "max": "amount"}, expect=200)
    assert "7000" not in answer.text and "7001" not in answer.text
    grouped = rows.alice.get(f"{ITEMS}/aggregate", params={"count": "*", "group_by": "name"}, expect=200)
    assert CANARY not in grouped.text and len(grouped.json()["items"]) == 1


def test_a10_hidden_from_export(rows):
    for form in ("csv", "jsonl"):
        assert CANARY not in rows.alice.get(f"{ITEMS}/export", params={"format": form}, expect=200).text


def test_a10_hidden_from_changes(rows):
    hidden, missing = f"{ITEMS}/{rows.hidden['id']}", f"{ITEMS}/424242"
    assert response_content(rows.alice.put(hidden, {"name": "x"})) == response_content(rows.alice.put(missing, {"name": "x"}))
    assert response_content(rows.alice.put(hidden, {"name": 7})) == response_content(rows.alice.put(missing, {"name": 7}))
    assert response_content(rows.alice.delete(hidden)) == response_content(rows.alice.delete(missing))
    assert response_content(rows.alice.post(f"{hidden}/lock", {})) == response_content(rows.alice.post(f"{missing}/lock", {}))
    assert response_content(rows.alice.delete(f"{hidden}/lock")) == response_content(rows.alice.delete(f"{missing}/lock"))
    stale = {"If-Match": '"1-0"'}
    assert response_content(rows.alice.put(hidden, {"name": "x"}, headers=stale)) == response_content(
        rows.alice.put(missing, {"name": "x"}, headers=stale))
    many = rows.alice.post(f"{ITEMS}/delete-many", {"ids": [rows.hidden["id"], 424242]}, expect=200).json()
    assert many["deleted"] == 0 and sorted(many["not_found"]) == sorted([rows.hidden["id"], 424242])
    filtered = rows.alice.post(f"{ITEMS}/delete-many", {"filter": {"amount": {"gt": 1000}}}, expect=200).json()
    assert filtered["deleted"] == 0
    assert rows.bob.get(hidden, expect=200).json()["name"] == CANARY


def test_a2_relations_to_hidden_records_are_as_to_missing_ones(rows):
    for member in ("customer", "watchers"):
        def value(number):
            return [number] if member == "watchers" else number

        hidden = rows.alice.post(ITEMS, {"name": "x", member: value(rows.hidden_customer["id"])}, expect=400)
        missing = rows.alice.post(ITEMS, {"name": "x", member: value(424242)}, expect=400)
        assert response_content(hidden) == response_content(missing)
        hidden = rows.alice.put(f"{ITEMS}/{rows.own['id']}", {member: value(rows.hidden_customer["id"])}, expect=400)
        missing = rows.alice.put(f"{ITEMS}/{rows.own['id']}", {member: value(424242)}, expect=400)
        assert response_content(hidden) == response_content(missing)
    bulk = [rows.alice.post(f"{ITEMS}/bulk", {"items": [{"name": "x", "customer": number}], "atomic": False})
            for number in (rows.hidden_customer["id"], 424242)]
    assert response_content(bulk[0]) == response_content(bulk[1])


def test_a10_an_upsert_does_not_touch_hidden_records(rows):
    body = {"items": [{"code": CANARY, "name": "taken over"}], "mode": "upsert", "on_conflict": ["code"]}
    rows.alice.post("/entities/customers/items/bulk", body)
    assert rows.bob.get(f"/entities/customers/items/{rows.hidden_customer['id']}").json()["name"] == CANARY


def test_a10_expansion_shows_no_hidden_record(rows):
    item = rows.item("orders", name="granted", customer=rows.hidden_customer["id"])
    rows.admin.put(f"{ITEMS}/{item['id']}/rls-users", {"items": [{"user_id": rows.alice.user["id"]}]}, expect=200)
    answer = await_status(lambda: rows.alice.get(f"{ITEMS}/{item['id']}", params={"expand": "customer"}), 200)
    assert CANARY not in answer.text and answer.json()["customer"] is None
    rows.alice.put(f"{ITEMS}/{item['id']}", {"name": "x"}, expect=403)
    rows.alice.delete(f"{ITEMS}/{item['id']}", expect=403)
    rows.admin.delete(f"{ITEMS}/{item['id']}", expect=204)


# --- members that no caller may set (A3) ---


@pytest.mark.parametrize("member, value", [("id", 99), ("created_at", "2001-01-01T00:00:00Z"), ("created_by", 1),
                                           ("updated_at", "2001-01-01T00:00:00Z"), ("version", 9), ("project_id", "x"),
                                           ("tenant_id", 1), ("owner", 1), ("f_1", "x"), ("row_number", 1)])
def test_a3_members_that_the_service_sets(rows, member, value):
    before = rows.alice.get(f"{ITEMS}/{rows.own['id']}").json()
    for refused in (rows.alice.post(ITEMS, {"name": "x", member: value}),
                    rows.alice.put(f"{ITEMS}/{rows.own['id']}", {member: value})):
        assert refused.status_code == 400, refused.text
        assert refused.json()["errors"][0]["code"] in ("read_only", "unknown_field")
    bulk = rows.alice.post(f"{ITEMS}/bulk", {"items": [{"name": "x", member: value}]})
    assert bulk.status_code in (400, 409)
    assert rows.alice.get(f"{ITEMS}/{rows.own['id']}").json() == before


# --- fields that are hidden (A11) ---


@pytest.mark.parametrize("name", ["amount", "nothing"])
def test_a11_a_hidden_field_is_as_an_unknown_one(rows, name):
    role = rows.role(permissions=["orders:read", "orders:create", "orders:update", "svc_exports:create"], field_access=[
        {"entity": "orders", "action": action, "fields": ["name"]} for action in ("read", "create", "update")])
    reader = rows.user(role_ids=[role["id"]])
    for query in (f"filter[{name}]=1", f"filter[{name}][gt]=1", f"sort={name}", f"sort=-{name}", f"fields={name}",
                  f"expand={name}", f"filter[or][0][{name}]=1", f"filter[customer.{name}]=1"):
        for where in ("", "/export"):
            mark = "&format=jsonl" if where else ""
            refused = reader.get(f"{ITEMS}{where}?{query}{mark}", expect=400)
            assert json.dumps(response_content(refused)).replace(name, "*") == json.dumps(
                response_content(reader.get(f"{ITEMS}{where}?{query.replace(name, 'zzz')}{mark}"))).replace("zzz", "*")
    for query in (f"sum={name}", f"group_by={name}&count=*", f"max={name}"):
        reader.get(f"{ITEMS}/aggregate?{query}", expect=400)
    assert reader.post(ITEMS, {"name": "x", name: 1}, expect=400).json()["errors"][0]["code"] == "unknown_field"
    made = reader.post(ITEMS, {"name": "x"}, expect=201).json()
    assert "amount" not in made
    rows.admin.delete(f"{ITEMS}/{made['id']}", expect=204)


@pytest.mark.parametrize("query", ["filter[password]=canary", "filter[password][starts_with]=c", "sort=password",
                                   "filter[password][null]=false", "filter[customer.password]=1"])
def test_a11_secrets_are_not_asked_about(rows, query):
    answers = [rows.bob.get(f"{ITEMS}?{query.replace('canary', guess)}", expect=400) for guess in ("a", CANARY)]
    assert response_content(answers[0])[1]["code"] == response_content(answers[1])[1]["code"]


def test_a11_secrets_are_never_shown(rows):
    for client in (rows.bob, rows.admin):
        item = client.get(f"{ITEMS}/{rows.hidden['id']}", expect=200)
        assert item.json()["password"] == "********"
    assert "********" in rows.bob.get(f"{ITEMS}/export", params={"format": "jsonl"}).text
    rows.bob.get(f"{ITEMS}/aggregate", params={"group_by": "password", "count": "*"}, expect=400)
    rows.bob.get(f"{ITEMS}/aggregate", params={"max": "password"}, expect=400)


# --- public records (A12) ---


def test_a12_only_public_fields_of_public_entities(project):
    fields = [{"name": "title", "type": "varchar", "public": True}, {"name": "cost", "type": "integer"},
              {"name": "key", "type": "secret"}]
    project.entity("articles", fields, public_read=True)
    project.entity("drafts", fields)
    article, draft = project.item("articles", title="t", cost=3), project.item("drafts", title=CANARY, cost=3)
    nobody = project.client()
    path = "/entities/articles/public/items"
    shown = await_status(lambda: nobody.get(path), 200).json()["items"][0]
    assert shown["title"] == "t" and "cost" not in shown and "key" not in shown and "created_by" not in shown
    assert "cost" not in nobody.get(f"{path}/{article['id']}", expect=200).json()
    for query in ("filter[cost]=3", "sort=cost", "fields=cost", "filter[key]=x", "filter[created_by]=1"):
        nobody.get(f"{path}?{query}", expect=400)
    missing = response_content(nobody.get("/entities/nothing/public/items"))
    assert response_content(nobody.get("/entities/drafts/public/items")) == missing and missing[0] == 404
    assert nobody.get(f"/entities/drafts/public/items/{draft['id']}").status_code == 404
    project.admin.put("/entities/articles", {"public_read": False}, expect=200)
    await_status(lambda: nobody.get(path), 404)
