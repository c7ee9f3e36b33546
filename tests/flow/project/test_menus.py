"""Menus: their trees and order, and which items a caller may use."""
import itertools
import threading

import pytest

_keys = itertools.count(1)


def make(project, label="Main", **body):
    return project.admin.post("/menus", {"key": f"menu-{next(_keys)}", "label": label, **body}, expect=201).json()


def add(project, menu, label, kind="group", expect=201, **body):
    if kind == "url":
        body.setdefault("target", "/somewhere")
    return project.admin.post(f"/menus/{menu['id']}/items", {"label": label, "kind": kind, **body}, expect=expect).json()


def get(project, menu):
    return project.admin.get(f"/menus/{menu['id']}", expect=200).json()


def shape(items):
    """Returns the labels as nested lists."""
    return [item["label"] if not item["children"] else [item["label"], shape(item["children"])] for item in items]


def mine(client, menu, **headers):
    menus = client.get("/menus/my", headers=headers, expect=200).json()["items"]
    return next(each for each in menus if each["id"] == menu["id"])


def test_create_read_update_delete(project):
    admin = project.admin
    answer = admin.post("/menus", {"key": "main", "label": {"en": "Main", "de": "Haupt"}}, expect=201)
    menu = answer.json()
    assert answer.headers["Location"].endswith(f"/menus/{menu['id']}")
    assert menu["items"] == [] and menu["label"] == {"en": "Main", "de": "Haupt"}
    refused = admin.post("/menus", {"key": "main", "label": "x"}, expect=409).json()
    assert refused["errors"][0]["field"] == "key"
    changed = admin.put(f"/menus/{menu['id']}", {"label": "Other"}, expect=200).json()
    assert changed["label"] == "Other" and changed["key"] == "main" and changed["version"] == menu["version"] + 1
    item = add(project, menu, "Orders", "url", target="/orders", icon="cart")
    assert item["children"] == [] and item["position"] == 0 and item["parent_id"] is None
    listed = admin.get("/menus", expect=200).json()["items"]
    assert [(each["key"], each["item_count"]) for each in listed] == [("main", 1)]
    shown = admin.get(f"/menus/{menu['id']}", expect=200)
    assert shown.json()["items"] == [item]
    admin.get(f"/menus/{menu['id']}", headers={"If-None-Match": shown.headers["ETag"]}, expect=304)
    admin.put(f"/menus/{menu['id']}", {"label": "y"}, headers={"If-Match": '"old"'}, expect=412)
    path = f"/menus/{menu['id']}/items/{item['id']}"
    changed = admin.put(path, {"icon": None, "target": "https://example.org/"}, expect=200).json()
    assert changed["icon"] is None and changed["target"] == "https://example.org/" and changed["label"] == "Orders"
    admin.delete(path, expect=204)
    admin.delete(path, expect=404)
    admin.put(path, {"icon": "x"}, expect=404)
    admin.delete(f"/menus/{menu['id']}", expect=204)
    admin.get(f"/menus/{menu['id']}", expect=404)
    actions = [entry["action"] for entry in admin.get("/audit-log", expect=200).json()["items"]]
    assert actions[:5] == ["menus.delete", "menus.delete_item", "menus.update_item", "menus.add_item", "menus.update"]


@pytest.mark.parametrize("body", [
    {}, {"key": "k"}, {"label": "x"}, {"key": "A b", "label": "x"}, {"key": "k", "label": ""}, {"key": "k", "label": "  "},
    {"key": "k", "label": "x" * 201}, {"key": "k", "label": 3}, {"key": "k", "label": None}, {"key": "k", "label": {}},
    {"key": "k", "label": {"e": "x"}}, {"key": "k", "label": {"de_DE": "x"}}, {"key": "k", "label": {"de": 1}},
    {"key": "k", "label": {"de": ""}}, {"key": "k", "label": ["x"]}, {"key": "k", "label": "x", "version": 3},
    {"key": "k", "label": {f"a{n}": "x" for n in range(10, 61)}},
])
def test_bad_menus(shared_project, body):
    shared_project.admin.post("/menus", body, expect=400)


@pytest.mark.parametrize("body", [
    {}, {"label": "x"}, {"kind": "group"}, {"label": "x", "kind": "page", "target": "/x"}, {"label": "x", "kind": "url"},
    {"label": "x", "kind": "group", "target": "/x"}, {"label": "x", "kind": "entity", "target": "no_such_entity"},
    {"label": "x", "kind": "url", "target": "javascript:alert(1)"}, {"label": "x", "kind": "url", "target": "//evil.example"},
    {"label": "x", "kind": "url", "target": "data:text/html,x"}, {"label": "x", "kind": "url", "target": "/a\r\nb"},
    {"label": "x", "kind": "url", "target": "/\\evil.example"}, {"label": "x", "kind": "url", "target": "JavaScript:x"},
    {"label": "x", "kind": "url", "target": "/x", "required_permission": "nothing:read"},
    {"label": "x", "kind": "url", "target": "/x", "required_permission": "svc_users:fly"},
    {"label": "x", "kind": "url", "target": "/x", "required_permission": "svc_users"},
    {"label": "x", "kind": "group", "parent_id": 424242}, {"label": "x", "kind": "group", "parent_id": 0},
    {"label": "x", "kind": "group", "position": -1}, {"label": "x", "kind": "group", "children": []},
])
def test_bad_items(shared_project, body):
    menu = make(shared_project)
    shared_project.admin.post(f"/menus/{menu['id']}/items", body, expect=400)
    assert get(shared_project, menu) == menu


def test_positions(project):
    menu = make(project)
    a, b, c = (add(project, menu, label) for label in "abc")
    assert shape(get(project, menu)["items"]) == ["a", "b", "c"]
    add(project, menu, "first", position=0)
    add(project, menu, "third", position=2)
    assert shape(get(project, menu)["items"]) == ["first", "a", "third", "b", "c"]
    path = f"/menus/{menu['id']}/items"
    assert project.admin.put(f"{path}/{a['id']}", {"position": 4}, expect=200).json()["position"] == 4
    assert shape(get(project, menu)["items"]) == ["first", "third", "b", "c", "a"]
    project.admin.put(f"{path}/{c['id']}", {"parent_id": b["id"]}, expect=200)
    assert shape(get(project, menu)["items"]) == ["first", "third", ["b", ["c"]], "a"]
    project.admin.delete(f"{path}/{b['id']}", expect=204)
    items = get(project, menu)["items"]
    assert shape(items) == ["first", "third", "a"] and [item["position"] for item in items] == [0, 1, 2]


def test_five_deep_and_no_deeper(project):
    menu = make(project)
    chain, parent = [], None
    for depth in range(5):
        parent = add(project, menu, f"d{depth}", parent_id=parent and parent["id"])
        chain.append(parent)
    refused = add(project, menu, "too deep", parent_id=parent["id"], expect=400)
    assert refused["errors"][0]["field"] == "parent_id"
    path = f"/menus/{menu['id']}/items"
    project.admin.put(f"{path}/{chain[0]['id']}", {"parent_id": chain[4]["id"]}, expect=400)
    project.admin.put(f"{path}/{chain[0]['id']}", {"parent_id": chain[0]["id"]}, expect=400)
    pair = add(project, menu, "pair")
    add(project, menu, "under", parent_id=pair["id"])
    project.admin.put(f"{path}/{pair['id']}", {"parent_id": chain[3]["id"]}, expect=400)
    project.admin.put(f"{path}/{pair['id']}", {"parent_id": chain[2]["id"]}, expect=200)
    assert shape(get(project, menu)["items"])[0][1][0][1][0][1] == [["d3", ["d4"]], ["pair", ["under"]]]
    other = make(project)
    add(project, other, "stranger", parent_id=pair["id"], expect=400)


def reorder(project, menu, *places, expect=200, **body):
    items = [{"id": item["id"], "position": position, **rest} for item, position, rest in places]
    return project.admin.put(f"/menus/{menu['id']}/items/reorder", {"items": items, **body}, expect=expect).json()


def test_reorder(project):
    menu = make(project)
    a, b, c, d = (add(project, menu, label) for label in "abcd")
    changed = reorder(project, menu, (d, 0, {}), (c, 1, {}), (b, 2, {}), (a, 3, {}))
    assert shape(changed["items"]) == ["d", "c", "b", "a"]
    changed = reorder(project, menu, (d, 0, {"parent_id": a["id"]}), (c, 1, {"parent_id": a["id"]}))
    assert shape(changed["items"]) == ["b", ["a", ["d", "c"]]]
    # a and c change places: b below d below a is allowed; a below c is refused as long as c is below a
    reorder(project, menu, (a, 0, {"parent_id": c["id"]}), expect=400)
    swapped = reorder(project, menu, (a, 0, {"parent_id": c["id"]}), (c, 0, {"parent_id": None}))
    assert shape(swapped["items"]) == [["c", [["a", ["d"]]]], "b"]
    reorder(project, menu, (a, 0, {}), (a, 1, {}), expect=400)
    before = get(project, menu)
    conflict = reorder(project, menu, (b, 0, {}), ({"id": 424242}, 1, {}), expect=409)
    assert conflict["code"] == "conflict" and conflict["errors"][0]["field"] == "items[1].id"
    reorder(project, menu, (b, 0, {"parent_id": 424242}), expect=409)
    assert get(project, menu) == before
    reorder(project, menu, (b, 0, {}), expect=409, version=before["version"] - 1)
    after = reorder(project, menu, (b, 0, {}), version=before["version"])
    assert after["version"] == before["version"] + 1 and shape(after["items"])[0] == "b"
    reorder(project, menu, (b, 0, {}), expect=409, version=before["version"])


def test_two_who_reorder_at_once(project):
    """Exactly one of several concurrent reorders with the same version succeeds; no item is lost or doubled."""
    menu = make(project)
    items = [add(project, menu, f"i{n}") for n in range(20)]
    version = get(project, menu)["version"]
    statuses = []

    def run(order):
        body = {"version": version, "items": [{"id": item["id"], "position": n} for n, item in enumerate(order)]}
        statuses.append(project.admin.put(f"/menus/{menu['id']}/items/reorder", body).status_code)

    threads = [threading.Thread(target=run, args=(order,)) for order in (items, items[::-1], items[10:] + items[:10])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 409, 409]
    now = get(project, menu)["items"]
    assert sorted(item["id"] for item in now) == sorted(item["id"] for item in items)
    assert [item["position"] for item in now] == list(range(20))


def test_my_menu_is_cut(project):
    project.entity("orders")
    project.entity("invoices")
    menu = make(project)
    shop = add(project, menu, "Shop")
    add(project, menu, "Orders", "entity", target="orders", parent_id=shop["id"])
    books = add(project, menu, "Books")
    ledger = add(project, menu, "Ledger", parent_id=books["id"])
    add(project, menu, "Invoices", "entity", target="invoices", parent_id=ledger["id"])
    add(project, menu, "Users", "url", target="/users", required_permission="svc_users:read")
    add(project, menu, "New order", "url", target="/orders/new", required_permission="orders:create")
    board = project.admin.post("/dashboards", {"name": "Board"}, expect=201).json()["id"]
    add(project, menu, "Board", "dashboard", target=str(board))
    add(project, menu, "Nowhere", "dashboard", target="424242", expect=400)
    add(project, menu, "Nowhere", "dashboard", target="first", expect=400)
    add(project, menu, "Help", "url", target="https://help.example/")
    admin = shape(mine(project.admin, menu)["items"])
    assert admin == [["Shop", ["Orders"]], ["Books", [["Ledger", ["Invoices"]]]], "Users", "New order", "Board", "Help"]
    reader = project.user_with("orders:read", "svc_users:read")
    assert shape(mine(reader, menu)["items"]) == [["Shop", ["Orders"]], "Users", "Help"]
    assert "required_permission" not in mine(reader, menu)["items"][0]
    maker = project.user_with("orders:create", "svc_dashboards:read", api_access=True)
    assert shape(mine(maker, menu)["items"]) == ["New order", "Help"]
    project.admin.put(f"/dashboards/{board}", {"role_ids": maker.user["role_ids"]}, expect=200)
    assert shape(mine(maker, menu)["items"]) == ["New order", "Board", "Help"]
    project.admin.delete(f"/dashboards/{board}", expect=204)
    for client in (maker, project.admin):
        assert "Board" not in shape(mine(client, menu)["items"])
    shut = project.user_with("orders:read", api_access=False)
    assert shape(mine(shut, menu)["items"]) == ["Help"]
    key = project.key(["invoices:read"])
    assert shape(mine(key, menu)["items"]) == [["Books", [["Ledger", ["Invoices"]]]], "Help"]
    project.client().get("/menus/my", expect=401)
    reader.get("/menus", expect=403)
    reader.get(f"/menus/{menu['id']}", expect=403)


def test_renamed_and_deleted_entities(project):
    project.entity("orders")
    menu = make(project)
    add(project, menu, "Orders", "entity", target="orders")
    add(project, menu, "New", "url", required_permission="orders:create")
    project.admin.put("/entities/orders", {"name": "purchases"}, expect=200)
    items = get(project, menu)["items"]
    assert items[0]["target"] == "purchases" and items[1]["required_permission"] == "purchases:create"
    assert [item["target"] for item in mine(project.admin, menu)["items"]] == ["purchases", "/somewhere"]
    project.entity("orders")  # an entity that takes the old name gives access to no item
    stranger = project.user(entities=["orders"])
    assert shape(mine(stranger, menu)["items"]) == []
    project.admin.delete("/entities/purchases", expect=204)
    assert shape(mine(project.admin, menu)["items"]) == []
    assert len(get(project, menu)["items"]) == 2


def test_labels_by_language(project):
    menu = make(project, {"en": "Main", "de": "Haupt", "pt-BR": "Principal"})
    add(project, menu, {"de": "Hilfe \"jetzt\"", "fr": "Aide"}, "url")
    add(project, menu, "Plain", "url")

    def labels(wanted):
        headers = {"Accept-Language": wanted} if wanted is not None else {"Accept-Language": None}
        shown = mine(project.admin, menu, **headers)
        return [shown["label"], *shape(shown["items"])]

    assert labels("de") == ["Haupt", 'Hilfe "jetzt"', "Plain"]
    assert labels("de-AT, en;q=0.5") == ["Haupt", 'Hilfe "jetzt"', "Plain"]
    assert labels("fr") == ["Main", "Aide", "Plain"]
    assert labels("pt") == ["Principal", 'Hilfe "jetzt"', "Plain"]
    assert labels("it;q=0.9, xx") == labels(None) == ["Main", 'Hilfe "jetzt"', "Plain"]
    answer = project.admin.get("/menus/my", expect=200)
    assert "Accept-Language" in answer.headers["Vary"]


def test_limits(project, servers):
    menu = make(project)
    add(project, menu, "one")
    with servers.connect() as db, db.cursor() as cursor:
        cursor.execute(f"insert into {project.schema(db)}.menu_items (menu_id, position, label, kind) "
                       "select %s, n, '\"x\"', 'group' from generate_series(1, 499) n", (menu["id"],))
        db.commit()
    assert add(project, menu, "more", expect=409)["code"] == "conflict"
    items = get(project, menu)["items"]
    changed = reorder(project, menu, *[(item, n, {}) for n, item in enumerate(items[::-1])])
    assert [item["id"] for item in changed["items"]] == [item["id"] for item in items[::-1]]
