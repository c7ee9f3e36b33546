"""Dashboards: who owns, sees and changes them, the grid of their widgets, and the home dashboard of a caller."""
import concurrent.futures

import pytest

CHART = {"name": "Count", "kind": "metric", "entity": "tasks", "aggregates": [{"function": "count"}]}


@pytest.fixture(scope="module")
def office(shared_project):
    project = shared_project
    project.admin.put("/", {"settings": {f"rate_{name}": 1000000 for name in ("read", "write", "heavy")}}, expect=200)
    project.entity("tasks", [{"name": "title", "type": "varchar"}, {"name": "state", "type": "varchar"}])
    project.chart = project.admin.post("/charts", CHART, expect=201).json()["id"]
    project.reader = project.user(permissions=["tasks:read", "svc_api_keys:create"])
    project.other = project.user()
    return project


def board(client, **body):
    return client.post("/dashboards", {"name": "Board", **body}, expect=201).json()


def widget(client, dashboard, expect=201, **body):
    return client.post(f"/dashboards/{dashboard['id']}/widgets", {"kind": "text", "text": "x", **body}, expect=expect).json()


def places(client, dashboard):
    shown = client.get(f"/dashboards/{dashboard['id']}", expect=200).json()["widgets"]
    return {each["id"]: (each["x"], each["y"], each["width"], each["height"]) for each in shown}


def test_create_read_update_delete(office):
    admin = office.admin
    answer = admin.post("/dashboards", {"name": "Sales", "description": "All of it"}, expect=201)
    made = answer.json()
    assert answer.headers["Location"].endswith(f"/dashboards/{made['id']}")
    assert made["widgets"] == [] and made["role_ids"] == [] and made["can_edit"] and made["owner_id"] == admin.user["id"]
    path = f"/dashboards/{made['id']}"
    chart = widget(admin, made, kind="chart", text=None, chart_id=office.chart, title="Tasks")
    assert chart["chart_id"] == office.chart and (chart["x"], chart["y"], chart["width"], chart["height"]) == (0, 0, 6, 4)
    rows = widget(admin, made, kind="list", text=None, entity="tasks", fields="title,state", sort="-created_at,title",
                  filter={"state": {"ne": "done"}}, limit=5)
    assert rows["entity"] == "tasks" and rows["filter"] == {"state": {"ne": "done"}} and rows["y"] == 4 and rows["text"] is None
    link = widget(admin, made, kind="link", text=None, url="/orders", x=6, y=0)
    note = widget(admin, made, text="<script>alert(1)</script>", x=6, y=4)
    shown = admin.get(path, expect=200)
    assert shown.json()["widgets"] == [chart, link, rows, note] and shown.json()["version"] == 5
    admin.get(path, headers={"If-None-Match": shown.headers["ETag"]}, expect=304)
    changed = admin.put(f"{path}/widgets/{note['id']}", {"title": "Note", "height": 2}, expect=200).json()
    assert changed == {**note, "title": "Note", "height": 2}
    changed = admin.put(f"{path}/widgets/{note['id']}", {"kind": "link", "url": "https://example.org/"}, expect=200).json()
    assert changed["kind"] == "link" and changed["text"] is None and changed["title"] == "Note"
    admin.put(path, {"name": "x"}, headers={"If-Match": shown.headers["ETag"]}, expect=412)
    assert admin.put(path, {"name": "Other"}, expect=200).json()["description"] == "All of it"
    admin.delete(f"{path}/widgets/{link['id']}", expect=204)
    admin.delete(f"{path}/widgets/{link['id']}", expect=404)
    admin.put(f"{path}/widgets/{link['id']}", {"title": "x"}, expect=404)
    listed = admin.get("/dashboards?sort=-id&limit=1", expect=200).json()["items"][0]
    assert listed["name"] == "Other" and listed["widget_count"] == 3 and "widgets" not in listed
    admin.delete(path, expect=204)
    admin.get(path, expect=404)


@pytest.mark.parametrize("field, body", [
    ("kind", {"kind": None}), ("kind", {"kind": "map"}), ("text", {"text": ""}), ("chart_id", {"kind": "chart", "text": None}),
    ("chart_id", {"kind": "chart", "text": None, "chart_id": 424242}), ("text", {"kind": "link", "url": "/x"}),
    ("url", {"kind": "link", "text": None, "url": "javascript:alert(1)"}), ("url", {"kind": "link", "text": None, "url": "//evil.example"}),
    ("entity", {"kind": "list", "text": None}), ("entity", {"kind": "list", "text": None, "entity": "nothing"}),
    ("fields", {"kind": "list", "text": None, "entity": "tasks", "fields": "title,nothing"}),
    ("sort", {"kind": "list", "text": None, "entity": "tasks", "sort": "-nothing"}),
    ("filter[nothing]", {"kind": "list", "text": None, "entity": "tasks", "filter": {"nothing": 1}}),
    ("filter", {"filter": {"title": "x"}}), ("x", {"x": 12}), ("y", {"y": -1}), ("width", {"width": 13}),
    ("width", {"x": 8, "width": 6}), ("height", {"height": 0}), ("text", {"text": "x" * 10001}), ("colour", {"colour": "red"}),
])
def test_bad_widgets(office, field, body):
    made = board(office.admin)
    refused = widget(office.admin, made, 400, **body)
    assert field in [error["field"] for error in refused["errors"]]
    assert places(office.admin, made) == {}
    office.admin.delete(f"/dashboards/{made['id']}", expect=204)


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": "x", "role_ids": [424242]}, {"name": "x", "widgets": []}, {"name": "x", "owner_id": 1}])
def test_bad_dashboards(office, body):
    office.admin.post("/dashboards", body, expect=400)


def test_places(office):
    admin, made = office.admin, board(office.admin)
    a, b = widget(admin, made), widget(admin, made, x=6, y=0)
    taken = widget(admin, made, 409, x=5, y=3, width=1, height=1)
    assert str(a["id"]) in taken["detail"]
    path = f"/dashboards/{made['id']}/widgets"
    admin.put(f"{path}/{b['id']}", {"x": 4}, expect=409)
    version = admin.get(f"/dashboards/{made['id']}", expect=200).json()["version"]
    swapped = [{"id": a["id"], "x": 6}, {"id": b["id"], "x": 0}]
    assert admin.put(f"{path}/layout", {"items": swapped, "version": version}, expect=200).json()["version"] == version + 1
    assert places(admin, made) == {a["id"]: (6, 0, 6, 4), b["id"]: (0, 0, 6, 4)}
    admin.put(f"{path}/layout", {"items": swapped, "version": version}, expect=409)
    admin.put(f"{path}/layout", {"items": [{"id": a["id"], "x": 0}]}, expect=409)
    admin.put(f"{path}/layout", {"items": swapped + swapped}, expect=400)
    gone = admin.put(f"{path}/layout", {"items": [swapped[0], {"id": 424242, "y": 9}]}, expect=409).json()
    assert gone["errors"][0]["field"] == "items[1].id"
    assert places(admin, made) == {a["id"]: (6, 0, 6, 4), b["id"]: (0, 0, 6, 4)}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda n: admin.post(path, {"kind": "text", "text": f"{n}"}).status_code, range(8)))
    assert done == [201] * 8
    assert sorted(place[1] for place in places(admin, made).values()) == [0, 0] + list(range(4, 36, 4))


def test_who_sees_and_changes_them(office):
    mine = board(office.reader)
    widget(office.reader, mine)
    path = f"/dashboards/{mine['id']}"
    office.other.get(path, expect=404)
    office.other.put(path, {"name": "x"}, expect=404)
    widget(office.other, mine, 404)
    assert mine["id"] not in [each["id"] for each in office.other.get("/dashboards", expect=200).json()["items"]]
    standard = office.role_named("Standard User")["id"]
    assert office.reader.put(path, {"role_ids": [standard, standard]}, expect=200).json()["role_ids"] == [standard]
    seen = office.other.get(path, expect=200).json()
    assert not seen["can_edit"] and len(seen["widgets"]) == 1
    for call in (office.other.put(path, {"name": "x"}), office.other.delete(path),
                 office.other.post(f"{path}/widgets", {"kind": "text", "text": "x"}),
                 office.other.put(f"{path}/widgets/layout", {"items": [{"id": seen["widgets"][0]["id"], "x": 1}]})):
        assert call.status_code == 403
    key = office.key(["svc_dashboards:read", "svc_dashboards:update"], office.reader)
    assert key.put(path, {"name": "By key"}, expect=200).json()["can_edit"]
    assert office.admin.put(path, {"role_ids": []}, expect=200).json()["can_edit"]
    office.other.get(path, expect=404)
    office.admin.delete(path, expect=204)
    # a list of an entity that the caller may not read is refused like a list of an entity that does not exist
    refused = widget(office.other, board(office.other), 400, kind="list", text=None, entity="tasks")
    nothing = widget(office.other, board(office.other), 400, kind="list", text=None, entity="nothing")
    assert refused["errors"] == nothing["errors"]


def test_home(office):
    admin, reader = office.admin, office.reader
    assert reader.get("/dashboards/home", expect=200).json() == {"scope": None, "role_id": None, "dashboard": None}
    standard = office.role_named("Standard User")["id"]
    everybodys, roles = board(admin, role_ids=[standard]), board(admin, role_ids=[standard])

    def home(client):
        shown = client.get("/dashboards/home", expect=200).json()
        return shown["scope"], shown["dashboard"] and shown["dashboard"]["id"]

    def choose(client, expect=200, **body):
        return client.put("/dashboards/home", body, expect=expect).json()

    choose(reader, 403, scope="project", dashboard_id=everybodys["id"])
    choose(reader, 403, scope="role", role_id=standard, dashboard_id=everybodys["id"])
    choose(reader, 400, scope="role", dashboard_id=everybodys["id"])
    choose(admin, 400, scope="role", role_id=424242, dashboard_id=everybodys["id"])
    choose(admin, 400, scope="user", role_id=standard, dashboard_id=everybodys["id"])
    choose(admin, 400, scope="user", dashboard_id=424242)
    choose(reader, 400, scope="user", dashboard_id=board(admin)["id"])
    choose(admin, scope="project", dashboard_id=everybodys["id"])
    assert home(reader) == ("project", everybodys["id"]) and home(office.other) == ("project", everybodys["id"])
    choose(admin, scope="role", role_id=standard, dashboard_id=roles["id"])
    assert home(reader) == ("role", roles["id"]) and home(admin) == ("project", everybodys["id"])
    own = board(reader)
    assert choose(reader, scope="user", dashboard_id=own["id"])["dashboard"]["id"] == own["id"]
    assert home(reader) == ("user", own["id"]) and home(office.other) == ("role", roles["id"])
    admin.put(f"/dashboards/{roles['id']}", {"role_ids": []}, expect=200)
    assert home(office.other) == ("project", everybodys["id"])
    choose(reader, scope="user", dashboard_id=None)
    assert home(reader) == ("project", everybodys["id"])
    admin.delete(f"/dashboards/{everybodys['id']}", expect=204)
    assert home(reader) == (None, None)


def test_widgets_go_with_what_they_show(office):
    office.entity("brief", [{"name": "n", "type": "integer"}])
    made = board(office.admin)
    chart = office.admin.post("/charts", {**CHART, "entity": "brief"}, expect=201).json()["id"]
    widget(office.admin, made, kind="chart", text=None, chart_id=chart)
    widget(office.admin, made, kind="list", text=None, entity="brief")
    kept = widget(office.admin, made, kind="chart", text=None, chart_id=office.chart)
    office.admin.put("/entities/brief", {"name": "short"}, expect=200)
    assert [each["entity"] for each in office.admin.get(f"/dashboards/{made['id']}").json()["widgets"]] == [None, "short", None]
    office.admin.delete("/entities/short", expect=204)
    assert list(places(office.admin, made)) == [kept["id"]]
