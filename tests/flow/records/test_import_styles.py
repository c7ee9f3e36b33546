"""CSV in the styles of other countries: decimal=comma, dates=dmy and dates=mdy, for imports and exports alike."""
import pytest

ITEMS = "/entities/sales/items"
GERMAN = {"separator": "semicolon", "decimal": "comma", "dates": "dmy"}
NUMBERS = ["n", "price", "exact"]


@pytest.fixture(scope="module")
def shop(shared_project):
    project = shared_project
    project.entity("sales", [
        {"name": "key", "type": "varchar"}, {"name": "n", "type": "integer"}, {"name": "price", "type": "float"},
        {"name": "exact", "type": "decimal"}, {"name": "day", "type": "date"}, {"name": "at", "type": "datetime"},
        {"name": "doc", "type": "json"}])
    return project


@pytest.fixture(autouse=True)
def empty(shop):
    shop.admin.post(f"{ITEMS}/delete-many", {"filter": {"id": {"gt": 0}}, "max_affected": 10000}, expect=200)
    shop.admin.put("/", {"settings": {"timezone": "Europe/Berlin"}}, expect=200)
    yield
    shop.admin.put("/", {"settings": {"timezone": None}}, expect=200)


def send(client, text, name="x.csv", expect=202, **params):
    return client.post(f"{ITEMS}/import", files={"file": (name, text.encode(), "text/csv")}, params=params, expect=expect)


def task_of(client, answer):
    return client.get(f"/tasks/{answer.json()['task_id']}", expect=200).json()


def stored(shop):
    return {item["key"]: item for item in shop.admin.get(f"{ITEMS}?limit=500", expect=200).json()["items"]}


def test_a_german_sheet(shop):
    text = ("key;n;price;exact;day;at\r\n"
            "a;1.234;1.234,5;0,10;31.01.2026;31.01.2026 14:05\r\n"
            "b;7;-2,5;12345678901234567890,12;1.2.26;1.7.2026\r\n"
            "c;;;;;\r\n"
            "d;1.5;1;1;1.1.2026;\r\n"
            "e;1;1.5;1;1.1.2026;\r\n"
            "f;1;1;1.5;1.1.2026;\r\n"
            "g;1;1;1;1/31/2026;\r\n"
            "h;1;1;1;;29.02.2026 10:00\r\n"
            "i;1,5;1;1;;\r\n"
            "j;1;1;1;2026-01-31;2026-01-31T10:00Z\r\n")
    task = task_of(shop.admin, send(shop.admin, text, **GERMAN))
    assert [error["row"] for error in task["errors"]] == [4, 5, 6, 7, 8, 9], task
    assert [error["detail"].split(":")[0] for error in task["errors"]] == ["n", "price", "exact", "day", "at", "n"]
    assert "12345678901234567890.12" in shop.admin.get(ITEMS).text
    found = stored(shop)
    assert {key: [item[name] for name in ("n", "price", "exact", "day", "at")] for key, item in found.items()} == {
        "a": [1234, 1234.5, 0.1, "2026-01-31", "2026-01-31T13:05:00.000Z"],
        "b": [7, -2.5, 12345678901234567890.12, "2026-02-01", "2026-06-30T22:00:00.000Z"],
        "c": [None] * 5, "j": [1, 1, 1, "2026-01-31", "2026-01-31T10:00:00.000Z"]}


def test_an_american_sheet(shop):
    task = task_of(shop.admin, send(shop.admin, "key,price,day,at\na,1.5,1/31/2026,1/31/2026 2:05 PM\nb,1,31/1/2026,\n", dates="mdy"))
    assert [error["row"] for error in task["errors"]] == [2] and "01/31/2026" in task["errors"][0]["detail"]
    assert [stored(shop)["a"][name] for name in ("price", "day", "at")] == [1.5, "2026-01-31", "2026-01-31T13:05:00.000Z"]


def test_without_being_asked_nothing_is_guessed(shop):
    task = task_of(shop.admin, send(shop.admin, 'key;price;day\na;"1,5";\nb;1;31.01.2026\n'))
    assert task["failed"] == 2


@pytest.mark.parametrize("style", [GERMAN, {"decimal": "comma"}, {"dates": "mdy"}, {"dates": "dmy", "separator": "tab", "bom": "true"}])
def test_there_and_back(shop, style):
    for n in range(5):
        shop.item("sales", key=f"k{n}", n=-n * 1000, price=-n / 4, exact=f"{n}.10", day=f"2026-0{n + 1}-0{n + 1}",
                  at=f"2026-0{n + 1}-28T23:30:0{n}.{n}Z", doc={"x": [1.5, "2026-01-31"]})
    before = stored(shop)
    exported = shop.admin.get(f"{ITEMS}/export", params={"format": "csv", **style}, expect=200).content.decode()
    if style == GERMAN:
        lines = exported.split("\r\n")
        assert lines[0].startswith("id;key;n;price;exact;day;at;doc;created_at") and '"{""x"": [1.5, ""2026-01-31""]}"' in lines[2]
        assert ";k1;-1000;-0,25;1,10;02/02/2026;01/03/2026 00:30:01.100;" in lines[2]
    again = {name: value for name, value in style.items() if name != "bom"}
    shop.admin.post(f"{ITEMS}/delete-many", {"filter": {"id": {"gt": 0}}, "max_affected": 10000}, expect=200)
    task = task_of(shop.admin, send(shop.admin, exported, **again))
    assert (task["status"], task["done"]) == ("succeeded", 5), task
    for key, item in before.items():
        new = stored(shop)[key]
        assert {name: new[name] for name in (*NUMBERS, "day", "at", "doc")} == {name: item[name] for name in (*NUMBERS, "day", "at", "doc")}


@pytest.mark.parametrize("params", [{"decimal": ","}, {"dates": "ymd"}, {"decimal": ""}, {"dates": "dmy", "format": "jsonl"},
                                    {"decimal": "comma", "format": "jsonl"}])
def test_styles_that_make_no_sense(shop, params):
    send(shop.admin, "key\na\n", expect=400, **params)
    shop.admin.get(f"{ITEMS}/export", params={"format": "csv", **params}, expect=400)


def test_a_dry_run_sees_the_style(shop):
    answer = send(shop.admin, "key;amount;when\na;1,5;31.01.2026\nb;2;1.2.2026\n", expect=200, dry_run="true", **GERMAN).json()
    assert {column["column"]: column["guessed_type"] for column in answer["columns"]} == {"key": "varchar", "amount": "float", "when": "date"}
