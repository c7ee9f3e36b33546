"""Imports and exports: every format, every size, broken files, callers who leave in the middle."""
import csv
import io
import json
import socket
import time

import pytest
from groundwork.client import Client
from groundwork.daemon import SANITIZERS
from groundwork.deadline import until
from groundwork.records import codes, rows, table

ITEMS = "/entities/goods/items"
FIELDS = [
    {"name": "sku", "type": "varchar", "unique": True, "required": True}, {"name": "n", "type": "integer", "options": {"min": 0}},
    {"name": "price", "type": "float"}, {"name": "exact", "type": "decimal"}, {"name": "flag", "type": "bool"},
    {"name": "day", "type": "date"},
    {"name": "at", "type": "datetime"}, {"name": "text", "type": "text"}, {"name": "doc", "type": "json"},
    {"name": "token", "type": "secret"}, {"name": "state", "type": "enum", "options": {"enum": "status"}},
    {"name": "tag", "type": "relation", "options": {"entity": "tags"}},
    {"name": "tags", "type": "relation", "options": {"entity": "tags", "many": True}}]
MANY = 20000
NASTY = ["plain", 'quo"te', "com,ma", "line\nbreak", "cr\r\nlf", " spaces ", "=1+1", "+1", "-1", "@x", "\ttab", "'=1+1", "''@x", "'x", "a;b", "a\tb", "日本語😀", "'", "", "null", '"', "=\"\""]


@pytest.fixture(scope="module")
def shop(shared_project):
    project = shared_project
    project.admin.post("/enums", {"name": "status", "values": ["open", "paid"]}, expect=201)
    project.entity("tags", [{"name": "name", "type": "varchar"}])
    project.goods = project.entity("goods", FIELDS)
    project.tags = [project.item("tags", name=str(n))["id"] for n in range(3)]
    return project


@pytest.fixture
def empty(shop, db):
    def wipe():
        with db.cursor() as cursor:
            cursor.execute(f"delete from {table(shop, db, shop.goods)}")
    wipe()
    yield shop
    wipe()


def upload(client, content, name="x.csv", kind="application/octet-stream", expect=202, path=ITEMS, part="file", **options):
    return client.post(f"{path}/import", files={part: (name, content, kind)}, expect=expect, **options)


def task_of(client, answer):
    number = answer.json()["task_id"]
    assert answer.headers["Location"].endswith(f"/tasks/{number}")
    return client.get(f"/tasks/{number}", expect=200).json()


def total(shop):
    return shop.admin.get(f"{ITEMS}?limit=1").json()["total_items"]


def good(n):
    return {"sku": f"s{n}", "n": n, "price": n / 4, "flag": n % 2 == 0, "text": NASTY[n % len(NASTY)]}


def as_csv(records):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(records[0]))
    writer.writeheader()
    writer.writerows([{k: str(v).lower() if isinstance(v, bool) else v for k, v in record.items()} for record in records])
    return out.getvalue()


def as_json(records):
    return json.dumps(records, ensure_ascii=False)


def as_jsonl(records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


FORMS = {"csv": as_csv, "json": as_json, "jsonl": as_jsonl}


@pytest.mark.full
@pytest.mark.parametrize("form", FORMS)
def test_twenty_thousand_rows_there_and_back(empty, form):
    """Every thousandth row is bad: the other rows arrive, and the task names the bad rows by number."""
    shop = empty
    records = [good(n) for n in range(MANY)]
    bad = list(range(500, MANY, 1000))
    for n in bad:
        records[n] |= {"n": -1} if n % 3 else {"sku": "s0"}
    task = task_of(shop.admin, upload(shop.admin, FORMS[form](records), f"rows.{form}"))
    assert (task["kind"], task["status"]) == ("import", "partial")
    assert (task["done"], task["failed"], task["total"]) == (MANY - len(bad), len(bad), MANY)
    assert [error["row"] for error in task["errors"]] == [n + 1 for n in bad], task["errors"][:3]
    assert {error["code"] for error in task["errors"]} == {"validation_failed", "unique_violation"}
    assert task["created_by"] == shop.admin.user["id"] and task["finished_at"]
    assert total(shop) == MANY - len(bad)

    lines = shop.admin.get(f"{ITEMS}/export?format=jsonl&sort=n&filter[n][gte]=10000", expect=200)
    assert lines.headers["Content-Type"] == "application/jsonl" and "goods.jsonl" in lines.headers["Content-Disposition"]
    assert lines.headers.get("Transfer-Encoding") == "chunked"
    seen = [json.loads(line) for line in lines.content.decode().split("\n")[:-1]]
    wanted = [record for n, record in enumerate(records) if n >= 10000 and n not in bad]
    assert len(seen) == len(wanted)
    for record, original in zip(seen, wanted):
        # Python's csv writes an empty text as nothing, which is null.
        text = original["text"] or (None if form == "csv" else "")
        assert {name: record[name] for name in good(0)} == {**original, "text": text}

    table_text = shop.admin.get(f"{ITEMS}/export?format=csv&fields=sku,n,text&sort=-n&filter[n][gte]=10000", expect=200)
    assert table_text.headers["Content-Type"] == "text/csv; charset=utf-8"
    body = list(csv.reader(io.StringIO(table_text.content.decode(), newline="")))
    assert body[0] == ["sku", "n", "text"] and len(body) == len(wanted) + 1
    for row, original in zip(body[1:], reversed(wanted)):
        text = original["text"]
        shown = "'" + text if text.lstrip("'")[:1] and text.lstrip("'")[0] in "=+-@\t" else text
        assert row == [original["sku"], str(original["n"]), shown]


@pytest.mark.parametrize("form", ["format=csv", "format=jsonl", "format=csv&separator=semicolon&bom=true", "format=csv&separator=tab"])
def test_an_export_can_be_imported_again(empty, form):
    shop = empty
    shop.admin.post(f"{ITEMS}/bulk", {"items": [
        {"sku": f"r{n}", "n": n, "price": 0.1 * n, "exact": f"{n}.10", "flag": bool(n % 2), "day": "2024-02-29", "at": "2026-01-01T00:00:00.123Z",
         "text": text, "doc": {"a": [n, None, text]}, "state": "open", "tag": shop.tags[n % 3], "tags": shop.tags[: n % 4]}
        for n, text in enumerate([*NASTY, None])] + [{"sku": "", "n": 100}]}, expect=201)
    before = shop.admin.get(f"{ITEMS}?sort=n&limit=500").json()["items"]
    exported = shop.admin.get(f"{ITEMS}/export?{form}&sort=n", expect=200).content
    assert exported.startswith(b"\xef\xbb\xbf") == ("bom" in form)
    for record in before:
        shop.admin.delete(f"{ITEMS}/{record['id']}", expect=204)
    task = task_of(shop.admin, upload(shop.admin, exported, "x.csv" if "csv" in form else "x.jsonl"))
    assert (task["status"], task["failed"]) == ("succeeded", 0), task["errors"]
    after = shop.admin.get(f"{ITEMS}?sort=n&limit=500").json()["items"]
    assert len(after) == len(before)
    for old, new in zip(before, after):
        for name in old:
            if name not in ("id", "created_at", "updated_at"):
                assert new[name] == old[name], (name, old[name], new[name])


@pytest.mark.parametrize("content, name, done, failed", [
    ("sku\r\na\r\nb", "x.csv", 2, 0), ("\ufeffsku\na\n", "x.csv", 1, 0), ("sku\ra\rb\r", "x.csv", 2, 0),
    ("sku\n\n\na\n\n", "x.csv", 1, 0),
    ('"sku"\n"a"\n', "x.csv", 1, 0), (" sku ,n\na,1\n", "x.csv", 1, 0), ("sku,n\na\nb,1\nc,1,2\n", "x.csv", 1, 2),
    ("sku\n", "x.csv", 0, 0),
    ("\n\r\nsku;n\na;1\nb;2", "x.csv", 2, 0), ("sku\tn\na\t1\n", "x.csv", 1, 0), ("\ufeffsku;n\na;1\n", "x.csv", 1, 0),
    ('"sku";"n"\na;1\n', "x.csv", 1, 0), ("sep=;\nsku;n\na;1\n", "x.csv", 1, 0), ("sep=\t\r\nsku\r\na\r\n", "x.csv", 1, 0),
    ("sku;n", "x.csv", 0, 0), ("sku;text\na;1,5\n", "x.csv", 1, 0), ("n\n1\n", "x.csv", 0, 1),
    ("id,sku,created_at,version\n5,a,x,9\n", "x.csv", 1, 0), ("sku,flag\na,yes\nb,0\nc,T\nd,maybe\n", "x.csv", 3, 1),
    ("sku,tags\na,1;2\nb,\"[1,2]\"\nc,9999\nd,x\n", "x.csv", 2, 2),
    ("sku,doc\na,\"{\"\"k\"\":1}\"\nb,text\n", "x.csv", None, None),
    ("sku,n\na,1.5\nb, 7 \nc,1e2\nd,9223372036854775808\n", "x.csv", None, None),
    ('[{"sku":"a"},{"sku":"b"}]', "x.json", 2, 0), (' \n[ {"sku":"a"} ,\n{"sku":"b"} ] \n', "x.json", 2, 0),
    ("[]", "x.json", 0, 0),
    ('[{"sku":"]}\\"[{"},{"sku":"a","doc":{"a":[{}]}}]', "x.json", 2, 0),
    ('[{"sku":"a","id":7,"created_at":"x"}]', "x.json", 1, 0),
    ('[{"sku":"a"},{"n":1},{"sku":5},{"sku":"b","nothing":1}]', "x.json", 1, 3),
    ('{"sku":"a"}\n\n{"sku":"b"}', "x.jsonl", 2, 0), ('{"sku":"a"}\r\n{"sku":"b"}\r\n', "x.ndjson", 2, 0),
    ('{"sku":"a"}\nnothing\n[1]\n{"sku":"b"\n{"sku":"c"} x\n', "x.jsonl", 1, 4), ("\n\n", "x.jsonl", 0, 0),
])
def test_files(empty, content, name, done, failed):
    content = content.replace("1;2", f"{empty.tags[0]};{empty.tags[1]}").replace("[1,2]", f"[{empty.tags[0]},{empty.tags[1]}]")
    task = task_of(empty.admin, upload(empty.admin, content, name))
    if done is not None:
        assert (task["done"], task["failed"]) == (done, failed), task
        assert task["status"] == ("succeeded" if not failed else "partial" if done else "failed")
    assert total(empty) == task["done"] and len(task["errors"]) == task["failed"]


@pytest.mark.parametrize("content, name", [
    (b"", "x.csv"), (b"nothing\na\n", "x.csv"), (b"sku,sku\na,b\n", "x.csv"), (b"sku,nothing\na,b\n", "x.csv"),
    (b"sku,\na,b\n", "x.csv"),
    (b'"sku\na\n', "x.csv"), (b'"sku"x\na\n', "x.csv"), (b"sku" + 1000 * b"," + b"\na\n", "x.csv"), (b"\xff\xfes\x00k\x00u\x00", "x.csv"),
    (b"s\xffu\na\n", "x.csv"), (b"sku|n\na|1\n", "x.csv"),
    (b"", "x.json"), (b"{}", "x.json"), (b'{"sku":"a"}', "x.json"), (b"[", "x.json"), (b'[{"sku":"a"', "x.json"),
    (b"[1]", "x.json"),
    (b"null", "x.json"), (b"\x89PNG\r\n", "x.json"), (b"[,]", "x.json"), (b"PK\x03\x04", "x.csv"), (b"\x00\x00", "x.csv"),
])
def test_files_that_are_broken_from_the_start(empty, content, name):
    answer = upload(empty.admin, content, name, expect=400)
    assert answer.json()["code"] in ("validation_failed", "bad_request") and total(empty) == 0


@pytest.mark.parametrize("content, name, done", [
    ('[{"sku":"a"} {"sku":"b"}]', "x.json", 1), ('[{"sku":"a"},]', "x.json", 1), ('[{"sku":"a"}] x', "x.json", 1),
    ('[{"sku":"a"}', "x.json", 1)])
def test_files_that_break_on_the_way(empty, content, name, done):
    """Rows before the break may be stored: the task says how many, and why the import stopped."""
    answer = upload(empty.admin, content, name, expect=None)
    assert answer.status_code in (202, 400), answer.text
    if answer.status_code == 202:
        task = task_of(empty.admin, answer)
        assert task["status"] == "failed" and task["done"] == total(empty) <= done
        assert task["errors"], "nothing tells why it stopped"
    else:
        assert total(empty) == 0, "rows were written, but the answer says nothing of them"


LONG = "x" * (2 * 1024 * 1024 + 10)


BROKEN_ROWS = [
    ('sku,text\na,TV 55" OLED\nb,"x"\n', "x.csv", {"a": 'TV 55" OLED', "b": "x"}, []),
    ('sku,text\na,5"\nb,""""\nc,a""b\n', "x.csv", {"a": '5"', "b": '"', "c": 'a""b'}, []),
    ('sku,text\na,"TV 55" OLED"\nb,1\n', "x.csv", {"b": "1"}, [1]),
    ('sku,text\na,"x" \nb,1\r\n', "x.csv", {"b": "1"}, [1]),
    # A quote that is never closed costs no other row, wherever the import notices that its text is broken.
    ('sku,text\na,"open\nb,1\nc,2\n', "x.csv", {"b": "1", "c": "2"}, [1]),
    ('sku,text\na,1\nb,"open', "x.csv", {"a": "1"}, [2]),
    ('sku,text\na,"open\nb,"closed"\nc,2\n', "x.csv", {"b": "closed", "c": "2"}, [1]),
    ('sku,text\r\na,"open\r\nb,"open\r\nc,"one\r\ntwo"\r\nd,2\r\n', "x.csv", {"c": "one\r\ntwo", "d": "2"}, [1, 2]),
    ('sku,text\na,1\n"\n"\nb,"2', "x.csv", {"a": "1"}, [2, 3]),
    ("sku,text\na," + 999 * "," + "\nb,1\n", "x.csv", {"b": "1"}, [1]),
    (f"sku,text\na,{LONG}\nb,1\n", "x.csv", {"b": "1"}, [1]),
    (f'sku,text\na,"{LONG}"\nb,1\n', "x.csv", {"b": "1"}, [1]),
    (f'sku,text\na,"{LONG[:-1000]}\nb,1\n{LONG[:5000]}', "x.csv", {"b": "1"}, [1, 3]),
    (f'{{"sku":"{LONG}"}}\n{{"sku":"b","text":"1"}}', "x.jsonl", {"b": "1"}, [1]),
    (f'[{{"sku":"{LONG}"}},{{"sku":"b","text":"1"}}]', "x.json", {"b": "1"}, [1]),
]


@pytest.mark.parametrize("content, name, taken, refused", BROKEN_ROWS, ids=range(len(BROKEN_ROWS)))
def test_a_broken_row_is_an_error_of_its_own(empty, content, name, taken, refused):
    task = task_of(empty.admin, upload(empty.admin, content, name))
    assert [error["row"] for error in task["errors"]] == refused, task
    assert (task["done"], task["failed"], task["status"]) == (len(taken), len(refused), "partial" if refused else "succeeded")
    assert {item["sku"]: item["text"] for item in empty.admin.get(f"{ITEMS}?limit=500").json()["items"]} == taken


def test_rows_that_each_open_a_quote_are_read_twice_at_most(empty):
    """Each line closes the quote of the line before and opens another; such rows are read twice at most: as rows of a thousand
    lines, and line by line."""
    task = task_of(empty.admin, upload(empty.admin, "sku,text\n" + 'x","y\n' * 300000 + "z,1\n"))
    assert 1000 < task["failed"] < 2000, task["failed"]


def test_rows_that_are_not_text(empty):
    task = task_of(empty.admin, upload(empty.admin, b"sku,text\na,\xff\nb,\xc0\x80\nc,a\x00b\nd,ok\n"))
    assert (task["done"], task["failed"]) == (1, 3) and [error["row"] for error in task["errors"]] == [1, 2, 3]
    task = task_of(empty.admin, upload(empty.admin, b'{"sku":"\xff"}\n{"sku":"\\u0000"}\n{"sku":"e"}\n', "x.jsonl"))
    assert (task["done"], task["failed"]) == (1, 2)


def test_errors_are_reported_up_to_a_hundred(empty):
    task = task_of(empty.admin, upload(empty.admin, "sku,n\n" + "x,bad\n" * 1500))
    assert (task["status"], task["done"], task["failed"]) == ("failed", 0, 1500)
    assert [error["row"] for error in task["errors"]] == list(range(1, 101))
    assert all(set(error) == {"row", "code", "detail"} for error in task["errors"])


@pytest.mark.parametrize("query, name, kind, status", [
    ("", "x.xlsx", "application/octet-stream", 415), ("", "x", "text/plain", 415), ("", "", "", 415),
    ("", "csv", "text/csv", 202), ("", "x.CSV", "", 202),
    ("?format=csv", "x.bin", "", 202), ("?format=json", "x.csv", "text/csv", 400), ("?format=xml", "x.csv", "", 400),
    ("?format=", "x.csv", "", None),
    ("?nothing=1", "x.csv", "", 400), ("", "a.b.csv", "text/plain", 202), ("", "x.txt", "text/csv; charset=utf-8", 202)])
def test_formats_are_found(empty, query, name, kind, status):
    answer = empty.admin.post(f"{ITEMS}/import{query}", files={"file": (name or "x", "sku\na\n", kind or "application/octet-stream")})
    assert answer.status_code == status or (status is None and answer.status_code in (202, 400)), answer.text


def test_what_is_no_upload(empty):
    admin = empty.admin
    admin.post(f"{ITEMS}/import", {"file": "x"}, expect=415)
    admin.post(f"{ITEMS}/import", None, data=b"sku\na\n", headers={"Content-Type": "text/csv"}, expect=415)
    admin.post(f"{ITEMS}/import", None, data=b"x", headers={"Content-Type": "multipart/form-data"}, expect=415)
    answer = admin.post(f"{ITEMS}/import", None, data=b"nothing", headers={"Content-Type": "multipart/form-data; boundary=x"}, expect=400)
    assert answer.json()["code"] in ("bad_request", "validation_failed")
    assert codes(upload(admin, "sku\na\n", part="other", expect=400)) == {"file": "required"}
    admin.request("POST", f"{ITEMS}/import", expect=415)
    both = admin.post(f"{ITEMS}/import", files=[("note", (None, "x")), ("file", ("x.csv", "sku\nz\n", "text/csv"))], expect=202)
    assert task_of(admin, both)["done"] == 1


def test_who_may(empty):
    reader, writer = empty.user_with("goods:read"), empty.user_with("goods:create")
    upload(reader, "sku\na\n", expect=403)
    upload(empty.client(), "sku\na\n", expect=401)
    answer = upload(writer, "sku\na\n")
    task = task_of(writer, answer)
    assert task["done"] == 1
    reader.get(f"/tasks/{task['id']}", expect=404)
    assert reader.get("/tasks", expect=200).json()["items"] == []
    assert [item["id"] for item in writer.get("/tasks", expect=200).json()["items"]] == [task["id"]]
    assert task["id"] in [item["id"] for item in empty.admin.get("/tasks?limit=500", expect=200).json()["items"]]
    empty.admin.get("/tasks/999999", expect=404)
    empty.admin.get("/tasks/x", expect=404)
    empty.client().get("/tasks", expect=401)
    assert reader.get(f"{ITEMS}/export", expect=403).json()["code"] == "forbidden"
    empty.user_with("svc_exports:create").get(f"{ITEMS}/export", expect=403)
    empty.user_with("svc_exports:create", "goods:read").get(f"{ITEMS}/export", expect=200)
    empty.client().get(f"{ITEMS}/export", expect=401)


@pytest.mark.parametrize("query, name, status", [
    ({"separator": "tab"}, "x.csv", 202), ({"separator": "comma"}, "x.csv", 400), ({}, "x.csv", 400), ({"separator": ";"}, "x.csv", 400),
    ({"separator": ""}, "x.csv", 400), ({"separator": "tab", "format": "jsonl"}, "x.csv", 400), ({"separator": "comma"}, "x.json", 400),
    ({"separator": "tab", "bom": "true"}, "x.csv", 400)])
def test_a_separator_is_said(empty, query, name, status):
    """The parameter `separator` decides, although the header has more semicolons than tabs."""
    upload(empty.admin, "sku\tb;c;d\na\tx;y\n", name, params={**query, "mapping[b;c;d]": "text"}, expect=status)
    if status == 202:
        assert empty.admin.get(ITEMS).json()["items"][0]["text"] == "x;y"


def test_null_and_the_empty_text_are_told_apart(shared_project):
    """As in PostgreSQL's COPY, an empty cell is null and two quotes are an empty text."""
    project = shared_project
    project.entity("cells", [
        {"name": "key", "type": "varchar", "required": True}, {"name": "text", "type": "text", "default": "d"},
        {"name": "n", "type": "integer", "default": 7}, {"name": "must", "type": "integer", "required": True, "default": 9},
        {"name": "many", "type": "relation", "options": {"entity": "cells", "many": True}}])
    content = 'key,text,n,must,many\na,,,,\nb,"","","",""\n"",x, ,1,\n,x,1,1,\n'
    task = task_of(project.admin, upload(project.admin, content, path="/entities/cells/items"))
    assert (task["done"], [error["row"] for error in task["errors"]]) == (3, [4]), task
    assert "key" in task["errors"][0]["detail"]
    items = project.admin.get("/entities/cells/items?sort=id").json()["items"]
    assert [[item[name] for name in ("key", "text", "n", "must", "many")] for item in items] == [
        ["a", None, None, 9, []], ["b", "", None, 9, []], ["", "x", None, 1, []]]
    exported = project.admin.get("/entities/cells/items/export?format=csv&fields=key,text,n&sort=id", expect=200).text
    assert exported == 'key,text,n\r\na,,\r\nb,"",\r\n"",x,\r\n'


def test_what_a_caller_may_not_write_stays_empty(shared_project):
    """An import leaves out an empty cell of a field that the caller may not write, and refuses a cell with a value."""
    project = shared_project
    project.entity("shelves", [{"name": "key", "type": "varchar"}, {"name": "shut", "type": "varchar"}])
    role = project.role(permissions=["shelves:create", "shelves:read"], field_access=[
        {"entity": "shelves", "action": "create", "fields": ["key"]}])
    user = project.user(role_ids=[role["id"]])
    task = task_of(user, upload(user, "key,shut\na,\nb,x\n", path="/entities/shelves/items"))
    assert (task["done"], [error["row"] for error in task["errors"]]) == (1, [2]), task


def test_exports_of_nothing(empty):
    names = ["id", *[field["name"] for field in FIELDS], "created_at", "updated_at", "created_by"]
    assert empty.admin.get(f"{ITEMS}/export?format=csv", expect=200).text == ",".join(names) + "\r\n"
    assert empty.admin.get(f"{ITEMS}/export?format=csv&separator=semicolon&bom=true&fields=sku,n", expect=200).content == b"\xef\xbb\xbfsku;n\r\n"
    assert empty.admin.get(f"{ITEMS}/export", expect=200).text == ""


@pytest.mark.parametrize("query", ["format=xml", "format=", "format=csv&format=csv", "page=1", "limit=5", "expand=tag", "fields=nothing", "sort=nothing",
                                   "filter[nothing]=1", "filter[token]=x", "cursor=start", "nothing=1", "format[csv]=1", "separator=tab", "bom=true",
                                   "format=csv&separator=x", "format=csv&bom=1"])
def test_exports_that_make_no_sense(shop, query):
    answer = shop.admin.get(f"{ITEMS}/export?{query}", expect=400)
    assert answer.json()["code"] in ("invalid_query", "unknown_parameter", "validation_failed"), answer.text
    assert "Content-Disposition" not in answer.headers


def test_too_large(start_gateway, shop):
    """A gateway with a small limit refuses uploads that are too large, with and without a declared length."""
    small = start_gateway("small_uploads", UPLOAD_BYTES=20000, WORKERS=1)
    admin = Client(f"{small.url}/org/{shop.id}", token=shop.admin.token)
    answer = upload(admin, "sku,text\n" + "".join(f"big{n},{'x' * 100}\n" for n in range(500)), expect=413)
    assert answer.json()["code"] == "payload_too_large"
    task = admin.get("/tasks?limit=1&sort=-id").json()["items"]
    assert not task or task[0]["status"] != "running", task

    def pieces():
        yield b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.csv\"\r\n\r\nsku,text\n"
        for n in range(1000):
            yield f"chunk{n},{'x' * 100}\n".encode()

    try:
        answer = admin.post(f"{ITEMS}/import", None, data=pieces(), headers={"Content-Type": "multipart/form-data; boundary=b"})
        assert answer.status_code == 413
    except OSError:
        pass  # closed while the test was still sending
    assert upload(admin, "sku\nfits\n").status_code == 202


# --- callers who leave --------------------------------------------------------------------------


def raw(gateway, head, body=b""):
    connection = socket.create_connection(("127.0.0.1", gateway.port), timeout=60)
    connection.sendall(head.encode() + body)
    return connection


def statements(db, text):
    return rows(db, "select count(*) from pg_stat_activity where state <> 'idle' and query like %s and pid <> pg_backend_pid()", text)[0][0]


@pytest.mark.parametrize("how", ["close", "reset", "half"])
def test_a_caller_leaves_during_its_import(empty, db, how):
    shop = empty
    content = b"sku,n\n" + b"".join(b"gone%d,%d\n" % (n, n) for n in range(3000))
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.csv"\r\n\r\n' + content
    head = (f"POST /org/{shop.id}{ITEMS}/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {shop.admin.token}\r\n"
            f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(part) + 1000}\r\n\r\n")
    connection = raw(shop.gateway, head, part)
    until(lambda: total(shop) >= 200)
    if how == "half":
        connection.shutdown(socket.SHUT_WR)
    elif how == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    connection.close()
    until(lambda: shop.admin.get("/tasks?limit=1&sort=-id").json()["items"][0]["status"] == "failed")
    task = shop.admin.get("/tasks?limit=1&sort=-id").json()["items"][0]
    assert task["done"] == total(shop) and task["errors"][-1]["detail"] == "the upload ended early", task
    until(lambda: statements(db, "%bulk_create%") == 0)


def test_callers_leave_during_their_exports(empty, db):
    shop = empty
    with db.cursor() as cursor:
        names = ", ".join(f"f_{field['id']}" for field in shop.goods["fields"] if field["name"] in ("sku", "text"))
        cursor.execute(f"insert into {table(shop, db, shop.goods)} ({names}) select 'e' || n, repeat('x', 2000) from generate_series(1, 20000) n")
    head = (f"GET /org/{shop.id}{ITEMS}/export?format=csv HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {shop.admin.token}\r\n\r\n")
    idle = lambda: rows(db, "select count(*) from pg_stat_activity where state = 'idle in transaction'")[0][0]
    before = idle()
    for how in 3 * ("at once", "after some", "reset", "never reads"):
        connection = raw(shop.gateway, head)
        if how == "after some":
            connection.recv(100000)
        if how == "reset":
            connection.recv(1000)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        if how == "never reads":
            time.sleep(0.2)
        connection.close()
    shop.admin.get(ITEMS, expect=200)
    until(lambda: statements(db, f"%e_{shop.goods['id']} t%") == 0)
    until(lambda: idle() <= before, "transactions stay open")
    whole = shop.admin.get(f"{ITEMS}/export?format=csv&fields=sku", expect=200)
    assert len(whole.text.splitlines()) == 20001


def test_a_slow_reader_costs_no_memory(empty, db, start_gateway, monkeypatch):
    """The gateway waits with an export that is not read, instead of holding its 40 MB."""
    shop = empty
    # A sanitizer keeps freed memory for a while to find late uses of it; here it may keep little.
    monkeypatch.setenv("ASAN_OPTIONS", f"{SANITIZERS['ASAN_OPTIONS']}:quarantine_size_mb=1:thread_local_quarantine_size_kb=64")
    gateway = start_gateway(WORKERS=1)
    reader = Client(shop.admin.base_url.replace(shop.gateway.url, gateway.url), token=shop.admin.token)
    reader.get(f"{ITEMS}?limit=1", expect=200)
    with db.cursor() as cursor:
        names = ", ".join(f"f_{field['id']}" for field in shop.goods["fields"] if field["name"] in ("sku", "text"))
        cursor.execute(f"insert into {table(shop, db, shop.goods)} ({names}) select 'e' || n, repeat('y', 2000) from generate_series(1, 20000) n")

    def memory():
        total_kb = 0
        for pid in gateway.workers():
            with open(f"/proc/{pid}/status", encoding="ascii") as status:
                total_kb += next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        return total_kb

    before = memory()
    with reader.get(f"{ITEMS}/export?format=jsonl", stream=True, expect=200) as answer:
        time.sleep(1.5)
        grown = memory() - before
        size = sum(len(piece) for piece in answer.iter_content(1 << 20))
    assert size > 40_000_000 and grown < 8_000, f"{grown} kB more"
