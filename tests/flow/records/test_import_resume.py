"""Imports that are cut off: the task is correct at every moment, and resume continues where the import stopped, without
doubling or skipping a row."""
import json
import socket
import threading

import pytest
from groundwork.chaos import client_at, run_in_background, kill
from groundwork.deadline import until
from groundwork.records import execute, rows

ITEMS = "/entities/parts/items"
MANY = 6000


@pytest.fixture(scope="module")
def shop(shared_project):
    project = shared_project
    project.parts = project.entity("parts", [
        {"name": "n", "type": "integer", "required": True, "options": {"min": 0}}, {"name": "sku", "type": "varchar", "unique": True},
        {"name": "times", "type": "integer"}])
    project.entity("others", [{"name": "n", "type": "integer"}])
    return project


@pytest.fixture
def empty(shop, db):
    execute(db, f"delete from {shop.schema(db)}.e_{shop.parts['id']}")
    return shop


def is_bad(n):
    return n % 97 == 50


def content(form, count=MANY, first=0, **more):
    """Returns a file of numbered rows, some of which an import refuses."""
    records = [{"n": -1 if is_bad(n) else n, "sku": f"s{n}", **{name: value(n) for name, value in more.items()}} for n in range(first, count)]
    if form == "csv":
        return ",".join(records[0]) + "\n" + "".join(",".join(str(value) for value in record.values()) + "\n" for record in records)
    if form == "json":
        return json.dumps(records)
    return "".join(json.dumps(record) + "\n" for record in records)


def upload(client, text, form="csv", expect=202, path=ITEMS, **params):
    return client.post(f"{path}/import", files={"file": (f"x.{form}", text, "application/octet-stream")}, expect=expect, params=params)


def newest(project):
    """Returns the newest task; before the first task a placeholder with id 0."""
    return [*project.admin.get("/tasks?limit=1&sort=-id", expect=200).json()["items"], {"id": 0, "status": None, "done": 0}][0]


def task(project, number):
    return project.admin.get(f"/tasks/{number}", expect=200).json()


def both(project, db, number, counted="count(*)"):
    """Returns the task's count of done rows and the count of stored rows, at one moment."""
    schema = project.schema(db)
    return rows(db, f"select done, (select {counted} from {schema}.e_{project.parts['id']}) from {schema}.tasks where id = %s", number)[0]


def field(project, name):
    return next(f"f_{each['id']}" for each in project.parts["fields"] if each["name"] == name)


@pytest.mark.parametrize("form, mode", [("csv", None), ("jsonl", None), ("json", None), ("csv", "sku"), ("jsonl", "id")])
def test_killed_and_resumed(empty, db, start_gateway, form, mode):
    """An import is killed twice: each time the task counts the stored rows, and at the end no row is stored twice."""
    shop, more, params, counted = empty, {}, {}, "count(*)"
    if mode:
        made = {}
        upload(shop.admin, content("jsonl"), "jsonl")
        for number, sku in rows(db, f"select id, {field(shop, 'sku')} from {shop.schema(db)}.e_{shop.parts['id']}"):
            made[sku] = number
        # Refused rows have no record, and get none.
        more = {"times": lambda n: 1} if mode == "sku" else {"times": lambda n: 1, "id": lambda n: made.get(f"s{n}", 10 ** 9)}
        params, counted = {"mode": "upsert", "on_conflict": mode}, f"count(*) filter (where {field(shop, 'times')} = 1)"
    text = content(form, **more)
    number, before = 0, newest(shop)["id"]
    for least in (800, 3000):
        gateway = start_gateway(WORKERS=1)
        resume = {"resume": number} if number else {}
        thread = run_in_background(lambda: upload(client_at(gateway, shop), text, form, expect=None, **params, **resume))
        if not number:
            until(lambda: newest(shop)["id"] > before)
            number = newest(shop)["id"]
        seen = [both(shop, db, number, counted)]
        while seen[-1][0] < least:
            assert seen[-1][0] == seen[-1][1], seen
            assert thread.is_alive(), "the import ended before its gateway was killed"
            seen.append(both(shop, db, number, counted))
        kill(gateway)
        thread.join()
        # PostgreSQL first ends the statements that were running.
        until(lambda: rows(db, "select count(*) from pg_stat_activity where state = 'idle in transaction' or query like %s and state = 'active'",
                           f"%e_{shop.parts['id']}%")[0][0] <= 1)
        done, there = both(shop, db, number, counted)
        assert done == there >= least
    answer = upload(shop.admin, text, form, resume=number, **params)
    assert answer.json()["task_id"] == number
    bad = [n for n in range(MANY) if is_bad(n)]
    ended = task(shop, number)
    assert (ended["status"], ended["done"], ended["failed"], ended["total"]) == ("partial", MANY - len(bad), len(bad), MANY)
    assert [error["row"] for error in ended["errors"]] == [n + 1 for n in bad]
    found = rows(db, f"select {field(shop, 'n')} from {shop.schema(db)}.e_{shop.parts['id']} order by 1")
    assert [row[0] for row in found] == [n for n in range(MANY) if not is_bad(n)]
    (done, there) = both(shop, db, number, counted)
    assert done == there
    if mode:
        (most,), = rows(db, f"select max(version) from {shop.schema(db)}.e_{shop.parts['id']}")
        assert most == 2, "no row changed a record twice"


class SlowUpload:
    """An upload whose bytes the test sends part by part."""

    def __init__(self, project, text):
        self.connection = socket.create_connection(("127.0.0.1", project.gateway.port), timeout=60)
        self.text = text.encode()
        part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.csv"\r\n\r\n'
        self.connection.sendall((
            f"POST /org/{project.id}{ITEMS}/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {project.admin.token}\r\n"
            f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(part) + len(self.text) + 9}\r\n\r\n").encode() + part)

    def send(self, first, last=None):
        self.connection.sendall(self.text[first:last])

    def end(self):
        self.connection.sendall(b"\r\n--b--\r\n")
        answer = b""
        while b"\r\n\r\n" not in answer:
            piece = self.connection.recv(65536)
            if not piece:
                break
            answer += piece
        return int(answer.split(b" ")[1])


def cut_off(project, text, least):
    """Breaks off an upload once at least `least` rows are stored, and returns its failed task."""
    before = newest(project)["id"]
    slow = SlowUpload(project, text)
    slow.send(0, len(text) * 2 // 3)
    until(lambda: newest(project)["id"] > before and newest(project)["done"] >= least)
    slow.connection.close()
    until(lambda: newest(project)["status"] == "failed")
    return newest(project)


def test_a_request_that_was_taken_over_writes_no_more(empty, db):
    shop = empty
    text = content("csv", 3000)
    before = newest(shop)["id"]
    slow = SlowUpload(shop, text)
    slow.send(0, len(text) // 2)
    until(lambda: newest(shop)["id"] > before and newest(shop)["done"] >= 1000)
    number = newest(shop)["id"]
    upload(shop.admin, text, resume=number)
    done = task(shop, number)
    slow.send(len(text) // 2)
    assert slow.end() == 409
    assert task(shop, number) == done and done["status"] == "partial"
    assert both(shop, db, number) == (done["done"], 3000 - len([n for n in range(3000) if is_bad(n)]))


def test_two_that_resume_at_once(empty, db):
    """Exactly one of several concurrent requests to resume continues the import, and no row is stored twice."""
    shop = empty
    text = content("csv", 3000)
    number = cut_off(shop, text, 1000)["id"]
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(upload(shop.admin, text, expect=None, resume=number).status_code)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) <= {202, 409} and 202 in answers
    good = [n for n in range(3000) if not is_bad(n)]
    assert [row[0] for row in rows(db, f"select {field(shop, 'n')} from {shop.schema(db)}.e_{shop.parts['id']} order by 1")] == good
    ended = task(shop, number)
    assert (ended["status"], ended["done"], ended["total"]) == ("partial", len(good), 3000)


def test_other_rows_are_not_passed_over(empty, db):
    shop = empty
    text = content("csv", 3000)
    stopped = cut_off(shop, text, 1000)
    before = both(shop, db, stopped["id"])
    for other in (content("csv", 3000, 1), text.replace("s7\n", "s7x\n"), "\n".join(text.split("\n")[:500]), "n,sku\n"):
        answer = upload(shop.admin, other, expect=409, resume=stopped["id"]).json()
        assert answer["code"] == "conflict" and str(before[0] + stopped["failed"]) in answer["detail"], answer
        assert both(shop, db, stopped["id"]) == before and task(shop, stopped["id"])["status"] == "failed"
    upload(shop.admin, text, resume=stopped["id"])
    ended = task(shop, stopped["id"])
    assert (ended["status"], ended["total"]) == ("partial", 3000)
    assert len(ended["errors"]) == ended["failed"], "the error that stopped the import is no longer listed"


def test_a_repaired_array_goes_on(empty, db):
    shop = empty
    text = content("json", 1000)
    broken = text[:-len(text) // 5].rsplit("}, {", 1)
    answer = upload(shop.admin, broken[0] + "} {" + broken[1], "json")
    stopped = task(shop, answer.json()["task_id"])
    assert stopped["status"] == "failed" and stopped["errors"][-1]["row"] > stopped["done"] > 0
    upload(shop.admin, text, "json", resume=stopped["id"])
    assert both(shop, db, stopped["id"])[0] == both(shop, db, stopped["id"])[1] == len([n for n in range(1000) if not is_bad(n)])


def test_who_may_go_on_with_what(empty):
    shop = empty
    text = content("csv", 3000)
    stopped = cut_off(shop, text, 200)["id"]
    other = shop.user(permissions=["parts:read", "parts:create"])
    upload(other, text, expect=404, resume=stopped)
    upload(shop.admin, text, expect=404, path="/entities/others/items", resume=stopped)
    upload(shop.admin, text, expect=404, resume=999999)
    for wrong in (0, -1, "x", ""):
        upload(shop.admin, text, expect=400, resume=wrong)
    upload(shop.admin, text, expect=400, resume=stopped, dry_run="true")
    upload(shop.admin, text, resume=stopped)
    ended = task(shop, stopped)
    upload(shop.admin, text, expect=409, resume=stopped)
    assert task(shop, stopped) == ended


def test_a_task_that_was_cut_off_says_so(empty, db):
    """A task whose process is gone reports nothing: after two minutes it is failed, and says where and why it stopped."""
    shop = empty
    number = cut_off(shop, content("csv", 3000), 400)["id"]
    schema = shop.schema(db)
    execute(db, f"update {schema}.tasks set created_at = created_at - interval '10 minutes' where id = %s", number)
    for count in (0, 100):
        errors = json.dumps([{"row": n + 1, "code": "conflict", "detail": "x"} for n in range(count)])
        execute(db, f"update {schema}.tasks set status = 'running', updated_at = now() - interval '3 minutes', errors = %s where id = %s", errors, number)
        told = task(shop, number)
        (reached,), = rows(db, f"select (doc->>'rows')::bigint from {schema}.tasks where id = %s", number)
        assert told["status"] == "failed" and len(told["errors"]) == min(count + 1, 100)
        assert told["errors"][-1]["row"] == reached + 1 and "resume" in told["errors"][-1]["detail"]
