"""Aggregates equal sums that the test calculates; rows, fields and parameters follow the rules of the list."""
import pytest

ITEMS = "/entities/sales/items"
AGGREGATE = f"{ITEMS}/aggregate"
ROWS = [  # status, region, amount, price, when
    ("open", "north", 1, 1.5, "2026-01-01"), ("open", "south", 2, None, "2026-02-01"), ("paid", "north", None, 2.5, None),
    ("paid", None, 4, 0.25, "2026-01-01"), (None, "north", 5, -3, "2025-12-31"), ("paid", "north", 2**62, 1e10, "2026-03-01"),
]


@pytest.fixture(scope="module")
def shop(shared_project):
    project = shared_project
    project.admin.post("/enums", {"name": "status", "values": ["open", "paid"]}, expect=201)
    project.entity("regions", [{"name": "name", "type": "varchar"}])
    project.entity("sales", [
        {"name": "status", "type": "enum", "options": {"enum": "status"}},
        {"name": "region", "type": "relation", "options": {"entity": "regions"}},
        {"name": "amount", "type": "integer"}, {"name": "price", "type": "float"}, {"name": "exact", "type": "decimal"},
        {"name": "when", "type": "date"}, {"name": "at", "type": "datetime"}, {"name": "name", "type": "varchar"},
        {"name": "flag", "type": "bool"},
        {"name": "doc", "type": "json"}, {"name": "pass", "type": "secret"}, {"name": "count", "type": "integer"},
        {"name": "sum", "type": "integer"},
        {"name": "regions", "type": "relation", "options": {"entity": "regions", "many": True}}])
    project.regions = {name: project.item("regions", name=name)["id"] for name in ("north", "south")}
    for n, (status, region, amount, price, when) in enumerate(ROWS):
        project.item("sales", status=status, region=project.regions.get(region), amount=amount, price=price, when=when, exact="0.1",
                     at=f"2026-01-01T00:00:0{n}Z", name=f"n{n}", flag=n % 2 == 0)
    return project


def groups(shop, query, expect=200):
    return shop.admin.get(f"{AGGREGATE}?{query}", expect=expect).json()["items"]


def test_the_whole(shop):
    assert groups(shop, "") == groups(shop, "count=*") == [{"count": 6}]
    assert groups(shop, "sum=amount,price&avg=price&min=when,name,at,status&max=when,amount,region.name") == [{
        "sum": {"amount": 12 + 2**62, "price": 1e10 + 1.25}, "avg": {"price": (1e10 + 1.25) / 5},
        "min": {"when": "2025-12-31", "name": "n0", "at": "2026-01-01T00:00:00.000Z", "status": "open"},
        "max": {"when": "2026-03-01", "amount": 2**62, "region.name": "south"}}]
    assert groups(shop, "sum=exact") == [{"sum": {"exact": 0.6}}]
    assert groups(shop, "count=*&sum=amount&filter[name]=nobody") == [{"count": 0, "sum": {"amount": None}}]
    assert groups(shop, "group_by=name&filter[name]=nobody") == []


def test_groups(shop):
    assert groups(shop, "group_by=status") == [{"status": "open", "count": 2}, {"status": "paid", "count": 3}, {"status": None, "count": 1}]
    assert groups(shop, "group_by=status&sum=amount&filter[amount][lt]=10") == [
        {"status": "open", "sum": {"amount": 3}}, {"status": "paid", "sum": {"amount": 4}},
        {"status": None, "sum": {"amount": 5}}]
    both = groups(shop, "group_by=status,flag&count=*")
    assert [(group["status"], group["flag"], group["count"]) for group in both] == [
        ("open", False, 1), ("open", True, 1), ("paid", False, 2), ("paid", True, 1), (None, True, 1)]
    assert groups(shop, "group_by=region.name") == [
        {"region.name": "north", "count": 4}, {"region.name": "south", "count": 1}, {"region.name": None, "count": 1}]
    by_id = groups(shop, "group_by=region")
    assert [group["region"] for group in by_id] == [shop.regions["north"], shop.regions["south"], None]
    assert groups(shop, "group_by=when&filter[when]=2026-01-01") == [{"when": "2026-01-01", "count": 2}]
    assert groups(shop, "group_by=created_by") == [{"created_by": shop.admin.user["id"], "count": 6}]


def test_the_limit(shop):
    body = shop.admin.get(f"{AGGREGATE}?group_by=name&limit=4", expect=200).json()
    assert [group["name"] for group in body["items"]] == ["n0", "n1", "n2", "n3"] and body["has_next_page"] is True
    assert shop.admin.get(f"{AGGREGATE}?group_by=name&limit=6").json()["has_next_page"] is False


@pytest.mark.parametrize("query", [
    "group_by=nothing", "group_by=", "group_by=status,status", "group_by=status,region,amount,price", "group_by=doc",
    "group_by=pass",
    "group_by=regions", "group_by=regions.name", "group_by=count&count=*", "group_by=sum&sum=amount", "sum=name", "sum=when",
    "sum=flag", "sum=doc",
    "sum=pass", "sum=region", "sum=nothing", "sum=", "sum=amount,amount", "avg=status", "min=flag", "max=doc", "max=pass",
    "min=regions",
    "count=1", "count=amount", "count=", "limit=0", "limit=1001", "limit=x", "page=2", "sort=status", "fields=status",
    "expand=region", "nothing=1",
    "filter[nothing]=1", "filter[amount]=x", "sum[amount]=1", "sum=amount&sum=price", "group_by=status;drop table x",
    "sum=amount)",
    "group_by=region.", "group_by=region.name.x", "having=1", "max=" + ",".join(["amount"] * 30),
])
def test_queries_that_make_no_sense(shop, query):
    answer = shop.admin.get(f"{AGGREGATE}?{query}", expect=400)
    assert answer.json()["code"] in ("invalid_query", "unknown_parameter"), answer.text


def test_sums_beyond_every_type(shop):
    """Integers are added as numeric; a sum of floats that overflows is a refusal, not a 500."""
    shop.entity("big", [{"name": "i", "type": "integer"}, {"name": "f", "type": "float"}, {"name": "d", "type": "decimal"}])
    for _ in range(3):
        shop.item("big", i=2**63 - 1, f=1e308, d="99999999999999999999999999999999999999")
    assert str(3 * (2**63 - 1)) in shop.admin.get("/entities/big/items/aggregate?sum=i").text
    assert "299999999999999999999999999999999999997" in shop.admin.get("/entities/big/items/aggregate?sum=d").text
    assert shop.admin.get("/entities/big/items/aggregate?sum=f").status_code == 400
    assert shop.admin.get("/entities/big/items/aggregate?avg=i").json()["items"][0]["avg"]["i"] == 2**63 - 1


def test_rows_and_rights(shop):
    user = shop.user(entities=["sales"])
    shop.item("sales", client=user, name="mine", amount=3)
    body = user.get(f"{AGGREGATE}?count=*&sum=amount", expect=200).json()
    assert body["items"] == [{"count": 1, "sum": {"amount": 3}}]
    shop.user_with("sales:create").get(AGGREGATE, expect=403)
    shop.client().get(AGGREGATE, expect=401)
    user.get(f"{AGGREGATE}?group_by=region.name", expect=400)
