"""Resources of the HTTP server that clients and projects share: request slots, unfinished bodies, unread answers, counters of
rate limits."""
import contextlib
import json
import re
import secrets
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from groundwork.chaos import FAKETIME, faketime_prefix
from groundwork.client import Client
from groundwork.deadline import until
from groundwork.fixtures import gateway_binary
from groundwork.floods import slow_readers
from groundwork.project import Project


@pytest.fixture(scope="module")
def start_small(start_gateway):
    """One worker with few request slots; requests may wait for long."""

    def start(**settings):
        return start_gateway(f"small-{secrets.token_hex(4)}", WORKERS=1,
                             **{"REQUESTS_MAX": 64, "STATEMENT_TIMEOUT_MS": 600000, "REQUEST_TIMEOUT_MS": 600000, **settings})

    return start


@pytest.fixture
def make_project(servers):
    def make(gateway):
        return Project(gateway, Client(f"{gateway.url}/org", token=servers.operator_token), None)

    return make


@pytest.fixture
def sockets():
    with contextlib.ExitStack() as stack:

        def connect(daemon, data=b"", address="127.0.0.1", receive_bytes=None):
            sock = stack.enter_context(socket.socket())
            if receive_bytes:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            sock.settimeout(60)
            sock.bind((address, 0))
            sock.connect(("127.0.0.1", daemon.port))
            sock.sendall(data)
            return sock

        yield connect


def gauge(daemon, name, share):
    found = re.search(rf'^{name}\{{[^}}]*"{share}"[^}}]*\}} (\d+)$', daemon.metrics(), re.M)
    return int(found[1]) if found else None


@pytest.fixture
def minute_without_end():
    """A prefix that starts a gateway with a stopped wall clock: the counters of rate limits restart every minute."""
    if FAKETIME is None:
        pytest.skip("libfaketime is not installed")
    return faketime_prefix(time.strftime("%Y-%m-%d %H:%M:%S"), gateway_binary())


STARTED = b"{" + b" " * 120000  # at the minimum rate of a kilobyte per second the gateway waits for this body for two minutes
REST = b" " * 9999 + b"}"


def announce(project, length=len(STARTED) + len(REST), start=STARTED):
    return (f"POST /org/{project.id}/entities HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {project.admin.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n").encode() + start


def full_request(project):
    body = json.dumps({"name": secrets.token_hex(8)}).encode()
    return announce(project, len(body), body).replace(b"/entities ", b"/groups ", 1)


def answer(sock):
    """Returns status and body of the next answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65536)
        assert piece, data
        data += piece
    head, body = data.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
    while len(body) < length:
        body += sock.recv(65536)
    return int(head.split(b" ")[1]), json.loads(body)


# --- bodies that do not arrive --------------------------------------------------------------------


def test_requests_without_their_bodies_keep_nobody_out(start_small, make_project, sockets):
    gateway = start_small(BODIES_PER_ADDRESS=1000, REQUESTS_MAX=128, BODIES_BYTES=32 << 20, MEMORY_BYTES=1 << 30)
    one, other = make_project(gateway), make_project(gateway)
    waiting = []
    for project in (one, other):
        for _ in range(4):  # would be a quarter of all slots per project, if a request without its body held a slot
            waiting += [sockets(gateway, announce(project)) for _ in range(8)]
            until(lambda: gauge(gateway, "groundwork_shares_held", "http_bodies") == len(waiting))
    for project in (one, other):
        for _ in range(5):
            project.admin.get("/users/me", expect=200)
            assert answer(sockets(gateway, full_request(project)))[0] == 201
    waiting[0].sendall(REST)
    assert answer(waiting[0])[0] == 400


def test_one_address_waits_for_few_bodies(start_small, make_project, sockets):
    gateway = start_small(BODIES_PER_ADDRESS=8)
    project = make_project(gateway)
    waiting = [sockets(gateway, announce(project)) for _ in range(8)]
    until(lambda: gauge(gateway, "groundwork_shares_held", "http_bodies") == 8)
    status, problem = answer(sockets(gateway, announce(project)))
    assert (status, problem["code"]) == (503, "too_many_requests_in_flight")
    assert answer(sockets(gateway, full_request(project)))[0] == 201  # the gateway does not have to wait for this body
    elsewhere = sockets(gateway, announce(project), address="127.0.0.2")
    until(lambda: gauge(gateway, "groundwork_shares_held", "http_bodies") == 9)
    for sock in (waiting[0], elsewhere):
        sock.sendall(REST)
        assert answer(sock)[0] == 400
    until(lambda: gauge(gateway, "groundwork_shares_held", "http_bodies") == 7)


BULK = 16 << 20  # of POST /entities/{entity}/items/bulk


def bulk(project, length, body=b""):
    return (f"POST /org/{project.id}/entities/pages/items/bulk HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {project.admin.token}\r\nContent-Length: {length}\r\n\r\n").encode() + body


def pages(text_bytes, count):
    return json.dumps({"items": [{"text": "x" * text_bytes}] * count}).encode()


def test_bodies_wait_for_room(start_small, make_project, sockets):
    """A budget of 20 MB has no room for two bodies of 12 MB: the gateway reads the second body after the first is complete."""
    gateway = start_small(BODIES_BYTES=65536, MEMORY_BYTES=1 << 30)
    project = make_project(gateway)
    project.entity("pages", [{"name": "text", "type": "text"}])
    body = pages(12000, 1000)
    first = sockets(gateway, bulk(project, len(body), body[:100]))
    until(lambda: gauge(gateway, "groundwork_shares_held", "http_body_bytes") == len(body))
    second = sockets(gateway, bulk(project, len(body), body[:100]))
    until(lambda: gauge(gateway, "groundwork_shares_waiting", "http_body_bytes") == 1)
    small = sockets(gateway, announce(project, 60000, b"{"), address="127.0.0.2")
    until(lambda: gauge(gateway, "groundwork_shares_waiting", "http_body_bytes") == 1)
    small.sendall(b" " * 59998 + b"}")
    assert answer(small)[0] == 400
    first.sendall(body[100:])
    until(lambda: gauge(gateway, "groundwork_shares_waiting", "http_body_bytes") == 0)
    second.sendall(body[100:])  # immediately: a client that has room and sends nothing is disconnected after ten seconds
    assert [answer(sock)[0] for sock in (first, second)] == [201, 201]


def test_a_body_that_finds_no_room(start_small, make_project, sockets):
    gateway = start_small(BODIES_BYTES=65536, MEMORY_BYTES=1 << 30, REQUEST_TIMEOUT_MS=30000)
    project = make_project(gateway)
    project.entity("pages", [{"name": "text", "type": "text"}])
    first = sockets(gateway, bulk(project, BULK, b"{"))
    until(lambda: gauge(gateway, "groundwork_shares_held", "http_body_bytes") == BULK)
    second = sockets(gateway, bulk(project, BULK, b"{"))
    until(lambda: gauge(gateway, "groundwork_shares_waiting", "http_body_bytes") == 1)
    while gauge(gateway, "groundwork_shares_waiting", "http_body_bytes"):
        first.sendall(b" " * 4096)  # a client that sends too little loses its room earlier
        time.sleep(0.2)
    status, problem = answer(second)
    assert (status, problem["code"]) == (503, "too_many_requests_in_flight")


def test_eight_large_bodies_at_once(start_small, make_project):
    gateway = start_small(MEMORY_BYTES=1 << 30)
    project = make_project(gateway)
    project.entity("pages", [{"name": "text", "type": "text"}])
    body = pages(5000, 1000)

    def send(_):
        return requests.post(f"{gateway.url}/org/{project.id}/entities/pages/items/bulk", data=body, timeout=120,
                             headers={"Authorization": f"Bearer {project.admin.token}", "Content-Type": "application/json"}).status_code

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(send, range(8))) == [201] * 8


# Routes with their own body limit; all others have the limit for JSON.
LIMITS = {"/entities/pages/items/bulk": BULK, "/push/devices": 65536}


@pytest.mark.parametrize("path, limit", [*LIMITS.items(), ("/entities", 1 << 20)])
def test_a_body_at_its_limit_is_taken(start_small, make_project, path, limit):
    """A body at its route's limit is accepted even with a small budget for all bodies, if it comes alone."""
    gateway = start_small(BODIES_BYTES=65536)
    project = make_project(gateway)
    project.entity("pages", [{"name": "text", "type": "text"}])
    for more, wanted in ((0, 400), (1, 413)):
        sent = requests.post(f"{gateway.url}/org/{project.id}{path}", data=b"{" + b" " * (limit + more - 2) + b"}", timeout=120,
                             headers={"Authorization": f"Bearer {project.admin.token}", "Content-Type": "application/json"})
        assert sent.status_code == wanted, sent.text
    if limit == BULK:
        body = pages(16000, 1000)
        sent = requests.post(f"{gateway.url}/org/{project.id}{path}", data=body, timeout=120,
                             headers={"Authorization": f"Bearer {project.admin.token}", "Content-Type": "application/json"})
        assert sent.status_code == 201, sent.text


# --- request slots --------------------------------------------------------------------------------


@pytest.fixture
def lock_records(db):
    """Locks the records of these projects against reads until the end of the test."""

    def lock(*projects):
        with db.cursor() as cursor:
            for project in projects:
                schema = project.schema(db)
                cursor.execute("select relname from pg_class c join pg_namespace n on n.oid = relnamespace "
                               "where nspname = %s and relname ~ '^e_[0-9]+$'", (schema,))
                for (table,) in cursor.fetchall():
                    cursor.execute(f'lock table {schema}."{table}" in access exclusive mode')

    db.autocommit = False
    yield lock
    db.rollback()


def shop(make_project, gateway):
    project = make_project(gateway)
    project.entity("things", [{"name": "name", "type": "varchar", "public": True}], public_read=True)
    project.item("things", name="one")
    project.admin.get("/entities/things/items", expect=200)
    project.client().get("/entities/things/public/items", expect=200)
    return project


def request(project, path, token=None):
    credentials = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"GET /org/{project.id}{path} HTTP/1.1\r\nHost: h\r\n{credentials}\r\n".encode()


def in_flight(daemon):
    return int(re.search(r"^groundwork_http_in_flight (\d+)$", daemon.metrics(), re.M)[1])


def test_many_projects_leave_a_seat_to_the_next(start_small, make_project, sockets):
    """Each of several projects sends as many requests as it can; the process still has a slot for another project."""
    gateway = start_small(REQUESTS_BYTES=1 << 30, MEMORY_BYTES=2 << 30)
    hostile = [shop(make_project, gateway) for _ in range(6)]
    for project in hostile:
        project.entity("pages", [{"name": "text", "type": "text"}])
        project.item("pages", text="x" * 300000)
    newcomer = make_project(gateway)
    newcomer.admin.get("/users/me", expect=200)

    def has_seat():
        """Whether the newcomer is served. With a slot it may still be refused a connection to the database of a busy machine."""
        answer = newcomer.admin.get("/users/me")
        assert answer.status_code == 200 or answer.json()["code"] == "dependency_unavailable", answer.text
        return answer.status_code == 200

    readers = [sockets(gateway, request(project, "/entities/pages/items", project.admin.token), receive_bytes=1)
               for project in hostile for _ in range(16)]
    with slow_readers(readers):
        until(lambda: in_flight(gateway) >= 36)
        for _ in range(3):
            until(has_seat, "the newcomer is not served")


def test_strangers_have_few_seats_of_their_own(start_small, make_project, lock_records, db, sockets):
    gateway = start_small()
    project = shop(make_project, gateway)
    lock_records(project)
    strangers = [sockets(gateway, request(project, "/entities/things/public/items")) for _ in range(16)]
    until(lambda: gauge(gateway, "groundwork_shares_held", "requests_public") == 4)
    project.admin.get("/users/me", expect=200)
    assert gauge(gateway, "groundwork_shares_held", "requests_public") == 4
    db.rollback()
    statuses = [answer(sock)[0] for sock in strangers]
    assert statuses.count(200) == 4 and statuses.count(503) == 12


def test_uploads_wait_for_their_turn(start_small, make_project, sockets):
    """A project may use half of the upload slots. Its other uploads wait, unread, and are served later. Another project gets a
    slot immediately."""
    gateway = start_small(REQUESTS_MAX=256, BODIES_PER_ADDRESS=1000, BODIES_BYTES=32 << 20, MEMORY_BYTES=1 << 30)
    one, other = make_project(gateway), make_project(gateway)

    def begin(project, body):
        head = (f"PUT /org/{project.id}/files/upload/x HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {project.admin.token}\r\n"
                f"Content-Length: {len(STARTED) + len(REST)}\r\n\r\n")
        return sockets(gateway, head.encode() + body)

    slow = [begin(one, STARTED) for _ in range(34)]
    until(lambda: gauge(gateway, "groundwork_shares_held", "uploads") == 32 and gauge(gateway, "groundwork_shares_waiting", "uploads") == 2)
    assert answer(begin(other, STARTED + REST))[0] == 201
    for sock in slow:
        sock.sendall(REST)
    assert [answer(sock)[0] for sock in slow] == [201] * 34


# --- names of projects that do not exist ----------------------------------------------------------


def test_names_of_nothing_are_looked_up_for_a_while(start_small, make_project, sockets, minute_without_end):
    gateway = start_small(prefix=minute_without_end)
    project = make_project(gateway)

    def ask(sock, name):
        sock.sendall(f"GET /org/{name}/users/me HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        return answer(sock)[0]

    sock = sockets(gateway)
    statuses = [ask(sock, f"nothing{number}") for number in range(610)]
    assert statuses == [404] * 600 + [429] * 10
    project.admin.get("/users/me", expect=200)
    assert ask(sockets(gateway, address="127.0.0.2"), "nothing-else") == 404


# --- unread answers -------------------------------------------------------------------------------


def test_unread_answers_are_bounded_by_project(start_small, make_project, sockets):
    gateway = start_small(STATEMENT_TIMEOUT_MS=5000, ANSWER_BYTES=8 << 20, REQUESTS_BYTES=32 << 20)
    one, other = make_project(gateway), make_project(gateway)
    for project in (one, other):
        project.entity("pages", [{"name": "text", "type": "text"}])
        for _ in range(6):
            project.admin.post("/entities/pages/items/bulk", {"items": [{"text": "x" * 900000}]}, expect=201)
    path = "/entities/pages/items?limit=6"
    readers = [sockets(gateway, request(one, path, one.admin.token), receive_bytes=1) for _ in range(8)]
    with slow_readers(readers):
        # On a busy machine a request that waits a second for the database is refused before it takes its share of memory.
        until(lambda: (gauge(gateway, "groundwork_requests_total", 'items_list",status="5xx') or 0) >= 6, gateway.metrics)
        # Rows count twice until their text is created; a moment later only the text counts.
        until(lambda: 5 << 20 < gauge(gateway, "groundwork_shares_held", "request_bytes") <= 16 << 20)
        assert len(other.admin.get(path, expect=200).json()["items"]) == 6
        one.admin.get("/users/me", expect=200)
    for sock in readers:
        sock.close()
    until(lambda: gauge(gateway, "groundwork_shares_held", "request_bytes") == 0)
    assert len(one.admin.get(path, expect=200).json()["items"]) == 6


# --- counters of limits ---------------------------------------------------------------------------


def test_counters_of_limits_are_shared_between_projects(start_small, make_project, sockets, minute_without_end):
    """In a project with thousands of callers some of them share a counter; the first caller of another project has its own
    counter."""
    gateway = start_small(TRUSTED_PROXIES="127.0.0.1", prefix=minute_without_end)
    crowded, other = shop(make_project, gateway), shop(make_project, gateway)
    for project in (crowded, other):
        project.admin.put("/", {"settings": {"rate_read": 1000}}, expect=200)
    sock = sockets(gateway)

    def left(project, addresses):
        sock.sendall(b"".join(f"GET /org/{project.id}/entities/things/public/items HTTP/1.1\r\nHost: h\r\n"
                              f"X-Forwarded-For: {address}\r\n\r\n".encode() for address in addresses))
        data = b""
        while data.count(b"HTTP/1.1 ") < len(addresses) or not data.endswith(b"}"):
            data += sock.recv(1 << 20)
        return [int(number) for number in re.findall(rb"(?i)ratelimit-remaining: (\d+)", data)]

    crowd = sum((left(crowded, [f"10.1.{block}.{number}" for number in range(256)]) for block in range(19)), [])
    assert crowd[:4000].count(999) > 3900
    # The first request on each counter: 4096 callers have their own counter, and the others share 64.
    assert crowd.count(999) <= 4096 + 64 and min(crowd) > 900
    assert left(other, ["10.2.0.1"]) == [999]
    assert left(other, ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"]) == [999, 998, 999]
