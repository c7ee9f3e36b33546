"""Charts: what they compute, for which callers, and what is cached."""
import concurrent.futures
import json

import pytest
from groundwork.deadline import until

SALES = [  # region, total, sold, day, shop
    ("north", 10, "2026-01-31T23:30:00Z", "2026-01-31", 1),
    ("north", 20, "2026-02-01T00:30:00Z", "2026-02-01", 1),
    ("south", 5, "2026-04-15T12:00:00Z", "2026-04-15", 2),
    ("south", 7.5, "2025-02-10T12:00:00Z", "2025-02-10", 2),
    (None, 1, "2026-03-29T01:30:00Z", None, None),
]


@pytest.fixture(scope="module")
def shop(shared_project):
    project = shared_project
    project.admin.put("/", {"settings": {f"rate_{name}": 1000000 for name in ("read", "write", "heavy")}}, expect=200)
    project.entity("shops", [{"name": "city", "type": "varchar"}, {"name": "rent", "type": "integer"}])
    project.entity("sales", [
        {"name": "region", "type": "varchar"}, {"name": "total", "type": "float"}, {"name": "sold", "type": "datetime"},
        {"name": "day", "type": "date"}, {"name": "shop", "type": "relation", "options": {"entity": "shops"}},
        {"name": "secret", "type": "secret"}, {"name": "notes", "type": "json"}])
    for city, rent in (("Graz", 100), ("Linz", 50)):
        project.item("shops", city=city, rent=rent)
    for region, total, sold, day, number in SALES:
        project.item("sales", region=region, total=total, sold=sold, day=day, shop=number)
    return project


def chart(**changes):
    return {"name": "Sales", "kind": "bar", "entity": "sales", "aggregates": [{"function": "sum", "field": "total"}],
            "group_by": [{"field": "sold", "bucket": "month"}], **changes}


def preview(shop, expect=200, client=None, **changes):
    return (client or shop.admin).post("/charts/preview", chart(**changes), expect=expect).json()


def metric(**changes):
    return {"kind": "metric", "group_by": [], "aggregates": [{"function": "count"}], **changes}


def wait_rows(client, path, rows):
    """Waits until `path` shows `rows`: cached data is up to a second old, and other workers learn of grants within a second."""
    until(lambda: client.get(path, expect=200).json()["rows"] == rows, f"{path} does not show {rows}")


def test_create_read_update_delete(shop):
    admin = shop.admin
    made = admin.post("/charts", chart(filter={"total": {"gte": 1}}, timezone="Europe/Vienna"), expect=201)
    body = made.json()
    assert made.headers["Location"].endswith(f"/charts/{body['id']}")
    assert body["entity"] == "sales" and body["filter"] == {"total": {"gte": 1}} and body["version"] == 1
    assert body["limit"] == 100 and body["sort"] is None and body["period"] is None and body["compare"] is False
    assert body["created_by"] == admin.user["id"]
    path = f"/charts/{body['id']}"
    shown = admin.get(path, expect=200)
    assert shown.json() == body
    admin.get(path, headers={"If-None-Match": shown.headers["ETag"]}, expect=304)
    changed = admin.put(path, {"name": "Other", "filter": None, "limit": 5}, expect=200).json()
    assert changed["name"] == "Other" and changed["filter"] is None and changed["limit"] == 5 and changed["version"] == 2
    assert changed["aggregates"] == body["aggregates"] and changed["timezone"] == "Europe/Vienna"
    admin.put(path, {"name": "x"}, headers={"If-Match": shown.headers["ETag"]}, expect=412)
    assert admin.put(path, {"kind": "metric"}, expect=400).json()["errors"][0]["field"] == "group_by"
    assert [each["id"] for each in admin.get("/charts?entity=sales&sort=-id", expect=200).json()["items"]] == [body["id"]]
    assert admin.get("/charts?entity=shops", expect=200).json()["items"] == []
    assert admin.get("/charts?entity=nothing", expect=200).json()["items"] == []
    admin.delete(path, expect=204)
    for call in (lambda: admin.delete(path), lambda: admin.get(path), lambda: admin.get(f"{path}/data"),
                 lambda: admin.put(path, {"name": "x"})):
        assert call().status_code == 404


@pytest.mark.parametrize("field, changes", [
    ("kind", {"kind": "cake"}), ("entity", {"entity": "nothing"}), ("aggregates", {"aggregates": []}),
    ("aggregates[0].function", {"aggregates": [{"function": "median", "field": "total"}]}),
    ("aggregates[0].field", {"aggregates": [{"function": "sum"}]}),
    ("aggregates[0].field", {"aggregates": [{"function": "count", "field": "total"}]}),
    ("aggregates[0].field", {"aggregates": [{"function": "sum", "field": "region"}]}),
    ("aggregates[0].field", {"aggregates": [{"function": "sum", "field": "nothing"}]}),
    ("aggregates[1].field", {"aggregates": [{"function": "sum", "field": "total"}] * 2}),
    ("aggregates[1].field", {"aggregates": [{"function": "count"}] * 2}),
    ("group_by[0].field", {"group_by": [{"field": "nothing"}]}), ("group_by[0].field", {"group_by": [{"field": "secret"}]}),
    ("group_by[0].field", {"group_by": [{"field": "notes"}]}),
    ("group_by[0].field", {"group_by": [{"field": "region", "bucket": "month"}]}),
    ("group_by[0].bucket", {"group_by": [{"field": "sold", "bucket": "hour"}]}),
    ("group_by[1].field", {"group_by": [{"field": "region"}, {"field": "region"}]}),
    ("group_by", {"group_by": [{"field": "sold", "bucket": "day"}, {"field": "day", "bucket": "day"}]}),
    ("group_by", {"group_by": [{"field": "region"}] * 3}), ("group_by", {"kind": "metric"}), ("group_by", {"group_by": []}),
    ("aggregates", {"kind": "pie", "aggregates": [{"function": "count"}, {"function": "sum", "field": "total"}]}),
    ("filter[nothing]", {"filter": {"nothing": 1}}), ("filter[total][near]", {"filter": {"total": {"near": 1}}}),
    ("filter", {"filter": {"total": {}}}), ("filter[secret]", {"filter": {"secret": "x"}}),
    ("sort", {"sort": "nothing"}), ("sort", {"sort": "sum(total); drop table x"}), ("sort", {"sort": "-"}),
    ("limit", {"limit": 0}), ("limit", {"limit": 1001}), ("timezone", {"timezone": "Mars/Phobos"}),
    ("timezone", {"timezone": "../../etc/passwd"}), ("compare", {"compare": True}),
    ("period.field", {"period": {"field": "region", "unit": "day"}}),
    ("period.unit", {"period": {"field": "sold", "unit": "hour"}}),
    ("period.count", {"period": {"field": "sold", "unit": "day", "count": 0}}),
    ("period.until", {"period": {"field": "sold", "unit": "day", "until": "yesterday"}}), ("colour", {"colour": "red"}),
])
def test_what_is_refused(shop, field, changes):
    named = [error["field"] for error in preview(shop, expect=400, **changes)["errors"]]
    assert field in named
    shop.admin.post("/charts", chart(**changes), expect=400)


def test_months_are_those_of_the_zone_and_none_is_left_out(shop):
    data = preview(shop)
    assert [column["name"] for column in data["columns"]] == ["sold", "sum(total)"]
    assert data["columns"][0] == {"name": "sold", "role": "group", "type": "date", "bucket": "month"}
    assert data["rows"][0] == ["2025-02-01", 7.5] and data["rows"][1] == ["2025-03-01", None]
    assert len(data["rows"]) == 15 and data["rows"][-1] == ["2026-04-01", 5] and not data["has_next_page"]
    shown = dict(preview(shop, filter={"sold": {"gte": "2026-01-01T00:00:00Z"}})["rows"])
    assert shown == {"2026-01-01": 10, "2026-02-01": 20, "2026-03-01": 1, "2026-04-01": 5}
    vienna = dict(preview(shop, timezone="Europe/Vienna", filter={"sold": {"gte": "2026-01-01T00:00:00Z"}})["rows"])
    assert vienna == {"2026-02-01": 30, "2026-03-01": 1, "2026-04-01": 5}
    days = preview(shop, group_by=[{"field": "day", "bucket": "week"}], filter={"day": {"gte": "2026-01-01"}})["rows"]
    assert days[0] == ["2026-01-26", 30] and days[-1] == ["2026-04-13", 5] and len(days) == 12
    assert [row[0] for row in preview(shop, group_by=[{"field": "sold", "bucket": "year"}])["rows"]] == ["2025-01-01", "2026-01-01"]
    assert preview(shop, group_by=[{"field": "sold", "bucket": "quarter"}], aggregates=[{"function": "count"}])["rows"] == [
        ["2025-01-01", 1], ["2025-04-01", 0], ["2025-07-01", 0], ["2025-10-01", 0], ["2026-01-01", 3], ["2026-04-01", 1]]


def test_groups_order_and_limit(shop):
    def rows(*fields, **changes):
        return preview(shop, kind="table", group_by=[{"field": field} for field in fields], **changes)["rows"]

    assert rows("region") == [["north", 30], ["south", 12.5], [None, 1]]
    assert rows("region", sort="sum(total)") == [[None, 1], ["south", 12.5], ["north", 30]]
    assert rows("shop.city", sort="-shop.city") == [["Linz", 12.5], ["Graz", 30], [None, 1]]
    assert rows("shop", "region", sort="-sum(total)") == [[1, "north", 30], [2, "south", 12.5], [None, None, 1]]
    assert rows("shop.rent", aggregates=[{"function": "max", "field": "sold"}, {"function": "count"}], limit=2) == [
        [50, "2026-04-15T12:00:00.000Z", 2], [100, "2026-02-01T00:30:00.000Z", 2]]
    assert preview(shop, kind="pie", group_by=[{"field": "region"}], limit=2)["has_next_page"] is True
    two = preview(shop, kind="line", group_by=[{"field": "sold", "bucket": "year"}, {"field": "region"}])["rows"]
    assert two == [["2025-01-01", "south", 7.5], ["2026-01-01", "north", 30], ["2026-01-01", "south", 5], ["2026-01-01", None, 1]]
    assert preview(shop, **metric())["rows"] == [[5]]
    assert preview(shop, **metric(filter={"total": {"gt": 100}}))["rows"] == [[0]]


def test_the_period_before(shop):
    period = {"field": "sold", "unit": "month", "count": 2, "until": "2026-04-20T00:00:00Z"}
    data = preview(shop, **metric(aggregates=[{"function": "sum", "field": "total"}], period=period, compare=True))
    assert data["period"] == {"from": "2026-03-01", "to": "2026-05-01"} and data["rows"] == [[6]]
    assert data["previous_period"] == {"from": "2026-01-01", "to": "2026-03-01"} and data["previous"] == [[30]]
    line = preview(shop, kind="line", period=period, compare=True, timezone="Europe/Vienna")
    assert line["rows"] == [["2026-03-01", 1], ["2026-04-01", 5]]
    assert line["previous"] == [["2026-01-01", None], ["2026-02-01", 30]]
    days = {"field": "day", "unit": "year", "until": "2026-12-31T23:30:00Z"}
    assert preview(shop, **metric(period=days, compare=True))["previous"] == [[1]]
    assert preview(shop, **metric(period=days, timezone="Asia/Tokyo"))["rows"] == [[0]]
    now = preview(shop, aggregates=[{"function": "count"}], group_by=[{"field": "created_at", "bucket": "day"}],
                  period={"field": "created_at", "unit": "day", "count": 7})
    assert len(now["rows"]) == 7 and sum(row[1] for row in now["rows"]) == 5 and now["rows"][0][1] == 0
    old = preview(shop, kind="table", period={"field": "sold", "unit": "year", "count": 1000, "until": "0001-06-01T00:00:00Z"})
    assert [row[0] for row in old["rows"]] == [f"0001-0{month}-01" for month in range(1, 7)]


def test_each_caller_sees_its_own_rows_and_fields(shop):
    everything = shop.admin.post("/charts", chart(**metric()), expect=201).json()["id"]
    path = f"/charts/{everything}/data?fresh=true"
    assert shop.admin.get(path, expect=200).json()["rows"] == [[5]]
    clerk = shop.user(permissions=["sales:read", "sales:create", "svc_api_keys:create"])
    assert clerk.get(path, expect=200).json()["rows"] == [[0]]
    shop.item("sales", clerk, region="west", total=3)
    assert clerk.get(path, expect=200).json()["rows"] == [[1]]
    shop.admin.put("/entities/sales/items/1/rls-users", {"items": [{"user_id": clerk.user["id"]}]}, expect=200)
    wait_rows(clerk, path, [[2]])
    assert shop.key(["svc_entities:read", "sales:read"], clerk).get(path, expect=200).json()["rows"] == [[2]]
    # data that is cached for one caller is not shown to another caller
    assert shop.admin.get(path.split("?")[0], expect=200).json()["rows"] == [[6]]
    wait_rows(clerk, path.split("?")[0], [[2]])
    # a relation to a hidden row has no value; a relation to an entity that the caller may not read is not a field
    cities = shop.admin.post("/charts", chart(group_by=[{"field": "shop.city"}]), expect=201).json()["id"]
    refused = clerk.get(f"/charts/{cities}/data", expect=403).json()
    assert "fields" in refused["detail"] and "city" not in json.dumps(refused)
    reader = shop.user(permissions=["sales:read", "shops:read"])
    assert reader.get(f"/charts/{cities}/data", expect=200).json()["rows"] == []
    shop.admin.put("/entities/sales/items/2/rls-users", {"items": [{"user_id": reader.user["id"]}]}, expect=200)
    wait_rows(reader, f"/charts/{cities}/data", [[None, 20]])
    stranger = shop.user()
    assert "sales:read" in stranger.get(path, expect=403).json()["detail"]
    assert "sales:read" in preview(shop, 403, stranger)["detail"]
    off = shop.user_with("svc_entities:read", "sales:read", api_access=False)
    assert off.get(path, expect=403).json()["code"] == "api_access_disabled"
    shop.admin.delete("/entities/sales/items/6", expect=204)


@pytest.mark.parametrize("hidden", [
    {"aggregates": [{"function": "sum", "field": "total"}]}, {"group_by": [{"field": "total"}], "kind": "table"},
    {"filter": {"or": [{"region": "north"}, {"total": {"gt": 5}}]}}, {"period": {"field": "sold", "unit": "year"}},
])
def test_a_forbidden_field_is_named_by_no_answer(shop, hidden):
    definition = chart(**{**metric(), **hidden})
    number = shop.admin.post("/charts", definition, expect=201).json()["id"]
    role = shop.role(permissions=["svc_entities:read", "svc_entities:create", "svc_entities:update", "svc_dashboards:read", "sales:read"],
                     field_access=[{"entity": "sales", "action": "read", "fields": ["region"]}])
    clerk = shop.user(role_ids=[role["id"]])
    name = "sold" if "period" in hidden else "total"
    assert name not in clerk.get(f"/charts/{number}/data", expect=403).text
    assert name not in clerk.get(f"/charts/{number}", expect=200).text
    hidden_as = clerk.post("/charts/preview", definition, expect=400).json()["errors"]
    unknown = json.loads(json.dumps(definition).replace(name, "nothing"))
    assert json.loads(json.dumps(hidden_as).replace(name, "nothing")) == clerk.post("/charts/preview", unknown, expect=400).json()["errors"]
    clerk.post("/charts", definition, expect=400)
    assert name not in clerk.put(f"/charts/{number}", {"kind": "table"}, expect=403).text
    clerk.put(f"/charts/{number}", {"name": "Renamed"}, expect=200)


def test_the_model_changes_under_a_chart(shop):
    shop.entity("brief", [{"name": "kind", "type": "varchar"}, {"name": "size", "type": "integer"}])
    shop.item("brief", kind="a", size=3)
    made = shop.admin.post("/charts", chart(entity="brief", kind="pie", group_by=[{"field": "kind"}],
                                            aggregates=[{"function": "sum", "field": "size"}]), expect=201).json()
    path = f"/charts/{made['id']}"
    shop.admin.put("/entities/brief", {"name": "short"}, expect=200)
    assert shop.admin.get(path, expect=200).json()["entity"] == "short"
    assert shop.admin.get(f"{path}/data", expect=200).json()["rows"] == [["a", 3]]
    shop.admin.delete("/entities/short/fields/size", expect=204)
    gone = shop.admin.get(f"{path}/data", expect=409).json()
    assert "size" in gone["errors"][0]["message"]
    shop.admin.put(path, {"aggregates": [{"function": "count"}]}, expect=200)
    assert shop.admin.get(f"{path}/data", expect=200).json()["rows"] == [["a", 1]]
    shop.admin.delete("/entities/short", expect=204)
    shop.admin.get(path, expect=404)


def test_a_change_shows_within_seconds(shop):
    number = shop.admin.post("/charts", chart(**metric(filter={"region": "east"})), expect=201).json()["id"]
    path = f"/charts/{number}/data"
    assert shop.admin.get(path, expect=200).json()["rows"] == [[0]]
    until(lambda: shop.admin.get(path, expect=200).json() == shop.admin.get(path, expect=200).json(), "the chart's data is not cached")
    made = shop.item("sales", region="east", total=1)
    assert shop.admin.get(f"{path}?fresh=true", expect=200).json()["rows"] == [[1]]
    shop.admin.delete(f"/entities/sales/items/{made['id']}", expect=204)
    wait_rows(shop.admin, path, [[0]])


def test_many_at_once(shop):
    numbers = [shop.admin.post("/charts", chart(**metric(limit=limit)), expect=201).json()["id"] for limit in (1, 2, 3)]

    def read(n):
        return shop.admin.get(f"/charts/{numbers[n % 3]}/data?fresh={'true' if n % 2 else 'false'}").status_code

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert set(pool.map(read, range(96))) == {200}
