"""The size of an answer is limited while it is created, for each request and for each project. Exports hold almost no memory,
and no connection while they wait for their reader."""
import concurrent.futures
import json
import re
import socket
import time
import urllib.parse

import pytest

from groundwork.client import Client
from groundwork.deadline import STRICT, until
from groundwork.floods import AttackThreads, slow_readers
from groundwork.project import Project

KB = 1024
MB = 1024 * KB
ROW = 50 * KB
ROWS = 60  # 3 MB, as much as three answers may hold


def fill(servers, project, entity, rows, text="repeat('x', {size})", size=ROW):
    """Inserts rows directly into the table; the first field contains their text."""
    connection = servers.connect()
    with connection, connection.cursor() as cursor:
        schema = project.schema(connection)
        cursor.execute(f"select id from {schema}.entities where name = %s", (entity,))
        number = cursor.fetchone()[0]
        cursor.execute(f"select id from {schema}.fields where entity_id = %s and name = 'text'", (number,))
        field = cursor.fetchone()[0]
        cursor.execute(f"insert into {schema}.e_{number} (f_{field}) "
                       f"select {text.format(size=size)} from generate_series(1, {rows}) n")
    connection.close()


def new_project(gateway, servers):
    return Project(gateway, Client(f"{gateway.url}/org", token=servers.operator_token), None)


@pytest.fixture(scope="module")
def small(start_gateway, servers):
    """A gateway that allows a megabyte for one answer and four for all requests, with eight write connections."""
    gateway = start_gateway("small_answers", WORKERS=1, ANSWER_BYTES=MB, REQUESTS_BYTES=4 * MB,
                            JSON_BODY_BYTES=256 * KB, DB_WRITE_CONNECTIONS=8)
    yield gateway
    assert gateway.is_running(), gateway.log_tail()
    assert not gateway.alarms()
    gateway.stop()


@pytest.fixture(scope="module")
def wide(small, servers):
    project = new_project(small, servers)
    project.entity("notes", [{"name": "text", "type": "text", "public": True}], public_read=True)
    project.entity("links", [{"name": "text", "type": "text"},
                             {"name": "note", "type": "relation", "options": {"entity": "notes"}}])
    fill(servers, project, "notes", ROWS)
    return project


@pytest.fixture(scope="module")
def neighbour(small, servers):
    project = new_project(small, servers)
    project.entity("small", [{"name": "text", "type": "text"}])
    fill(servers, project, "small", 20, size=100)
    return project


def too_large(answer, *advice):
    assert answer.status_code == 400, f"{answer.status_code}: {answer.text[:300]}"
    assert answer.json()["code"] == "too_large_answer"
    assert all(word in answer.json()["detail"] for word in advice or ("limit", "export"))


def held(gateway):
    return int(re.search(r'^groundwork_shares_held\{pool="request_bytes"\} (\d+)', gateway.metrics(), re.M).group(1))


# --- one answer ---


def test_a_list_beyond_the_budget_is_refused(wide, small):
    too_large(wide.admin.get("/entities/notes/items", params={"limit": 500}))
    items = wide.admin.get("/entities/notes/items", params={"limit": 10}, expect=200).json()["items"]
    assert [len(item["text"]) for item in items] == [ROW] * 10
    wide.admin.get("/entities/notes/items", params={"limit": 500, "fields": "id"}, expect=200)
    assert held(small) == 0


def test_expanded_records_count_with_those_that_name_them(wide):
    ids = [item["id"] for item in wide.admin.get("/entities/notes/items", params={"limit": ROWS, "fields": "id"},
                                                 expect=200).json()["items"]]
    for note in ids[:30]:
        wide.item("links", text="y" * 10, note=note)
    too_large(wide.admin.get("/entities/links/items", params={"limit": 30, "expand": "note"}))
    wide.admin.get("/entities/links/items", params={"limit": 10, "expand": "note"}, expect=200)


def test_one_record_written_many_times_counts_each_time(wide):
    """The rows are small, but the expanded record's text is not."""
    note = wide.admin.get("/entities/notes/items", params={"limit": 1, "fields": "id"},
                          expect=200).json()["items"][0]["id"]
    created = [wide.item("links", text="same", note=note)["id"] for _ in range(40)]
    too_large(wide.admin.get("/entities/links/items", params={"limit": 100, "expand": "note",
                                                              "filter[text]": "same"}))
    assert len(created) == 40


def test_text_that_escapes_counts_as_it_is_sent(wide, servers):
    wide.entity("controls", [{"name": "text", "type": "text"}])
    fill(servers, wide, "controls", 8, text="repeat(chr(1), {size})")  # 400 KB, and 2.4 MB as JSON
    too_large(wide.admin.get("/entities/controls/items", params={"limit": 50}))
    wide.admin.get("/entities/controls/items", params={"limit": 2}, expect=200)


def test_groups_of_an_aggregate_count(wide, servers):
    wide.entity("groups", [{"name": "text", "type": "text"}])
    fill(servers, wide, "groups", 60, text="repeat('x', {size}) || n")
    too_large(wide.admin.get("/entities/groups/items/aggregate", params={"group_by": "text", "limit": 500}), "limit")


# --- a project's share ---


def test_a_project_that_holds_its_share_costs_others_nothing(wide, neighbour, small):
    """Clients of one project request as much as they may and read almost nothing; requests of another project are served."""
    def slow():
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        address = urllib.parse.urlsplit(small.url)
        connection.connect((address.hostname, address.port))
        path = f"/org/{wide.id}/entities/notes/public/items?limit=18"
        # The gateway does not hold bytes that are in socket buffers, so send several requests, until these buffers are full.
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 12)
        return connection

    readers = [slow() for _ in range(12)]
    try:
        with slow_readers(readers):
            assert until(lambda: (most := held(small)) >= MB and most) <= 4 * MB
            for _ in range(30):
                neighbour.admin.get("/entities/small/items", expect=200)
            answers = [wide.admin.get("/entities/notes/items", params={"limit": 18}) for _ in range(3)]
        for answer in answers:
            assert answer.status_code in (200, 503)
            if answer.status_code == 503:
                assert answer.json()["code"] == "too_many_requests_in_flight"
    finally:
        for reader in readers:
            reader.close()
    until(lambda: held(small) == 0, lambda: f"{held(small)} bytes are still held")
    wide.admin.get("/entities/notes/items", params={"limit": 18}, expect=200)


@pytest.mark.timed
def test_large_answers_take_turns(wide):
    """More answers than fit into memory at once, to clients that read: each gets its answer, and most at the first attempt,
    because memory becomes free within a second."""
    def read(_):
        client, statuses = Client(wide.base_url, token=wide.admin.token), []

        def is_answered():
            statuses.append(client.get("/entities/notes/items", params={"limit": 15}).status_code)
            return statuses[-1] != 503

        until(is_answered, "the request was refused every time")
        return statuses

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        all_statuses = list(pool.map(read, range(30)))
    assert {statuses[-1] for statuses in all_statuses} == {200}
    assert not STRICT or [statuses[0] for statuses in all_statuses].count(200) >= 20


# --- exports ---


@pytest.fixture(scope="module")
def narrow(start_gateway, servers):
    """A gateway with eight write connections, for slow readers."""
    gateway = start_gateway("exports", WORKERS=1, DB_WRITE_CONNECTIONS=8)
    yield gateway
    assert gateway.is_running(), gateway.log_tail()
    assert not gateway.alarms()
    gateway.stop()


def export_slowly(gateway, project, path):
    """A connection that has requested an export and reads nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    address = urllib.parse.urlsplit(gateway.url)
    connection.connect((address.hostname, address.port))
    connection.sendall(f"GET /org/{project.id}{path} HTTP/1.1\r\nHost: x\r\n"
                       f"Authorization: Bearer {project.admin.token}\r\n\r\n".encode())
    return connection


def test_slow_readers_of_exports_hold_no_connection(narrow, servers):
    project, other = new_project(narrow, servers), new_project(narrow, servers)
    project.entity("notes", [{"name": "text", "type": "text"}])
    fill(servers, project, "notes", 400, size=40 * KB)  # 16 MB, more than fits into socket buffers
    other.entity("small", [{"name": "text", "type": "text"}])
    # More readers than connections, and none of them reads.
    readers = [export_slowly(narrow, project, "/entities/notes/items/export") for _ in range(24)]
    try:
        for reader in readers:
            assert reader.recv(12) == b"HTTP/1.1 200"
        until(lambda: re.search(r"^groundwork_db_leased 0$", narrow.metrics(), re.M), "connections are held")
        assert held(narrow) <= len(readers) * 256 * KB
        # Longer than the epochs that a worker has read stay valid: requests of other clients are still served.
        for n in range(12):
            if n % 4 == 0:
                other.client().sign_in("admin@example.org", "correct horse battery")
            other.item("small", text=f"{n}")
            project.item("notes", text=f"{n}")
            other.admin.get("/entities/small/items", params={"count": "true"}, expect=200)
            time.sleep(0.5)
    finally:
        for reader in readers:
            reader.close()


def test_an_export_is_whole_in_any_order(narrow, servers):
    """Records and pages of all sizes, and sort keys with ties and nulls."""
    project = new_project(narrow, servers)
    project.entity("notes", [{"name": "text", "type": "text"}, {"name": "n", "type": "integer"}])
    fill(servers, project, "notes", 700, text="case when n % 97 = 0 then repeat('x', 300000) else repeat('y', n) end")
    connection = servers.connect()
    with connection, connection.cursor() as cursor:
        schema = project.schema(connection)
        cursor.execute(f"select e.id, f.id from {schema}.entities e join {schema}.fields f on f.entity_id = e.id "
                       "where e.name = 'notes' and f.name = 'n'")
        entity, field = cursor.fetchone()
        cursor.execute(f"update {schema}.e_{entity} set f_{field} = case when id % 5 = 0 then null else id % 7 end")
        cursor.execute(f"select id, f_{field} from {schema}.e_{entity}")
        rows = cursor.fetchall()
    connection.close()
    orders = {
        "id": sorted(row[0] for row in rows),
        "-id": sorted((row[0] for row in rows), reverse=True),
        "n": [row[0] for row in sorted(rows, key=lambda row: (row[1] is None, row[1] or 0, row[0]))],
        "-n": None,
    }
    for sort, expected in orders.items():
        lines = project.admin.get("/entities/notes/items/export", params={"sort": sort}, expect=200).text.splitlines()
        found = [json.loads(line) for line in lines]
        assert len({item["id"] for item in found}) == len(found) == 700
        if expected:
            assert [item["id"] for item in found] == expected
        else:
            keys = [item["n"] for item in found]
            known = [key for key in keys if key is not None]
            assert known == sorted(known, reverse=True) and keys[:len(known)] == known
        assert sum(len(item["text"]) == 300000 for item in found) == 7
    long = project.admin.get("/entities/notes/items/export", params={"sort": "text", "fields": "id"}, expect=200)
    assert len(long.text.splitlines()) == 700
    some = project.admin.get("/entities/notes/items/export", params={"filter[n]": "3", "format": "csv"}, expect=200)
    assert len(some.text.splitlines()) == 1 + sum(row[1] == 3 for row in rows)
    none = project.admin.get("/entities/notes/items/export", params={"filter[n]": "99", "format": "csv"}, expect=200)
    assert len(none.text.splitlines()) == 1


def test_a_record_larger_than_a_page_is_exported(narrow, servers):
    project = new_project(narrow, servers)
    project.entity("notes", [{"name": "text", "type": "text"}])
    fill(servers, project, "notes", 3, size=2 * MB)
    lines = project.admin.get("/entities/notes/items/export", expect=200).text.splitlines()
    assert [len(json.loads(line)["text"]) for line in lines] == [2 * MB] * 3


# --- heavy reads ---


def test_aggregates_of_one_project_leave_room_for_others(narrow, servers):
    """Forty clients aggregate as fast as they can, while another project counts and lists."""
    busy, other = new_project(narrow, servers), new_project(narrow, servers)
    busy.entity("notes", [{"name": "text", "type": "text"}])
    fill(servers, busy, "notes", 250000, text="md5((n % 50000)::text)")
    other.entity("small", [{"name": "text", "type": "text"}])
    fill(servers, other, "small", 300, size=50)
    clients = [Client(busy.base_url, token=busy.admin.token) for _ in range(40)]

    def aggregate(number, _):
        return clients[number].get("/entities/notes/items/aggregate", params={"group_by": "text", "count": "*", "limit": 5})

    with AttackThreads(40, aggregate) as flood:
        served, ends = 0, time.monotonic() + 6
        while time.monotonic() < ends or served <= 5 or flood.answers[200] <= 5:
            other.admin.get("/entities/small/items", params={"limit": 20, "count": "true"}, expect=200)
            other.admin.get("/entities/small/items/aggregate", params={"count": "*"}, expect=200)
            served += 1
    assert set(flood.answers) <= {200, 429, 503}
